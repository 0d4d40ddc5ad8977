import Foundation
import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import NetworkWatch

/// A thread in a new network namespace, in which `ip` sets up the test's network (man 7 network_namespaces).
private final class Namespace: Sendable {
    /// Why this machine can't create a namespace; nil if the machine can.
    static let obstacle: String? = {
        guard FileManager.default.isExecutableFile(atPath: ip) else { return "iproute2 is not installed" }
        let answer = Mutex<Int32>(0)
        let done = DispatchSemaphore(value: 0)
        startThread(name: "namespace") {
            answer.withLock { $0 = leaveNetwork() }
            done.signal()
        }
        done.wait()
        let code = answer.withLock { $0 }
        return code == 0 ? nil : "a network namespace can't be made: \(String(cString: strerror(code)))"
    }()

    /// Calls unshare(CLONE_NEWNET), which Swift's Glibc module lacks.
    ///
    /// - Returns: 0, or errno.
    private static func leaveNetwork() -> Int32 {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let symbol = dlsym(nil, "unshare") else { return ENOSYS }
        return unsafeBitCast(symbol, to: Unshare.self)(0x4000_0000) == 0 ? 0 : errno
    }

    private static let ip = "/usr/sbin/ip"

    private let thread = SerialThread(name: "namespace")

    init() {
        thread.run { _ = Self.leaveNetwork() }
    }

    /// Runs `work` on the thread. Threads started by `work` share the namespace.
    func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in thread.run { continuation.resume(returning: work()) } }
    }

    /// Runs `ip` with these arguments, separated by spaces.
    func ip(_ words: String) async throws {
        let code = await run { () -> Int32 in
            let arguments = (["ip"] + words.split(separator: " ").map(String.init)).map { strdup($0) }
            defer { arguments.forEach { free($0) } }
            var child: pid_t = 0
            var status: Int32 = -1
            guard posix_spawn(&child, Self.ip, nil, nil, arguments + [nil], environ) == 0 else { return -1 }
            waitpid(child, &status, 0)
            return status
        }
        try #require(code == 0, "ip \(words)")
    }
}

@Suite(
    "The kernel's own messages", .enabled(if: Namespace.obstacle == nil, "\(Namespace.obstacle ?? "")"),
    .timeLimit(.minutes(2)))
struct NamespaceTests {
    private final class Seen: Sendable {
        let changes = Mutex<[NetworkChange]>([])
        let troubles = Mutex<[String]>([])
        var count: Int { changes.withLock { $0.count } }
        /// Waits for `change` among the changes after the first `start`. Other changes may come in between: the kernel
        /// may report a carrier up to a second late.
        ///
        /// - Returns: the number of changes up to and including `change`.
        func sees(_ change: NetworkChange, after start: Int = 0) async throws -> Int {
            try await Poll.value(
                "\(change)", lastState: { "\(changes.withLock { $0 })" },
                look: {
                    changes.withLock { changes in
                        changes.indices.dropFirst(start).first { changes[$0] == change }.map { $0 + 1 }
                    }
                })
        }
    }

    private func watch(_ namespace: Namespace, _ seen: Seen) async throws -> NetworkWatch {
        let watch = try NetworkWatch(
            onTrouble: { trouble in seen.troubles.withLock { $0.append(trouble) } },
            onChange: { change in seen.changes.withLock { $0.append(change) } })
        await namespace.run { watch.start() }
        return watch
    }

    @Test("report an address that comes and goes")
    func addresses() async throws {
        let namespace = Namespace()
        try await namespace.ip("link add v0 type veth peer name v1")
        try await namespace.ip("link set v0 up")
        try await namespace.ip("link set v1 up")
        try await namespace.ip("addr add 192.0.2.7/24 dev v0")
        let seen = Seen()
        let watch = try await watch(namespace, seen)
        defer { watch.stop() }

        try await namespace.ip("addr add 198.51.100.1/24 dev v0")
        let added = try await seen.sees(NetworkChange(causes: .network))
        try await namespace.ip("addr del 192.0.2.7/24 dev v0")
        _ = try await seen.sees(NetworkChange(causes: .network, goneAddresses: [.four]), after: added)
        #expect(seen.troubles.withLock { $0 } == [])
    }

    @Test("report a default route, a lost carrier and a removed link")
    func links() async throws {
        let namespace = Namespace()
        try await namespace.ip("link add v0 type veth peer name v1")
        try await namespace.ip("link set v0 up")
        try await namespace.ip("link set v1 up")
        try await namespace.ip("addr add 192.0.2.7/24 dev v0")
        let seen = Seen()
        let watch = try await watch(namespace, seen)
        defer { watch.stop() }

        try await namespace.ip("route add default via 192.0.2.1")
        let routed = try await seen.sees(NetworkChange(causes: .network))
        try await namespace.ip("link set v1 down")
        let down = try await seen.sees(NetworkChange(causes: .network), after: routed)
        try await namespace.ip("link set v1 up")
        let up = try await seen.sees(NetworkChange(causes: .network, returnedAddresses: [.four]), after: down)
        try await namespace.ip("link del v0")
        _ = try await seen.sees(NetworkChange(causes: .network, goneAddresses: [.four]), after: up)
    }
}
