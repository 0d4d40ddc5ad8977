import Foundation
import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import NetworkWatch

/// A thread with a network of its own, in which `ip` makes what a test needs (man 7 network_namespaces).
private final class Namespace: Sendable {
    /// Why there can be none here; nil where there can.
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

    /// unshare(CLONE_NEWNET); the function is not part of Swift's Glibc module.
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

    /// Runs something on the thread; threads it starts are in the same network.
    func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in thread.run { continuation.resume(returning: work()) } }
    }

    /// Runs `ip` with these words.
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
        /// Waits for a change beyond those that came before; the kernel may tell of a carrier a second after it came,
        /// in between.
        ///
        /// - Returns: the number of changes up to that one.
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

    @Test("tell of an address that comes and goes")
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

    @Test("tell of a default route, a lost carrier and a link that vanishes")
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
