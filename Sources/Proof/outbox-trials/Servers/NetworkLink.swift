import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// A network namespace for the agent, with a link to another namespace that the trial can take down and degrade.
///
/// Agents of other trials see nothing of the link: news of the network would make them try again at once. Uses ip(8) and
/// nft(8); needs root.
final class NetworkLink {
    /// A requirement of the link that this machine lacks.
    struct Missing: Error, CustomStringConvertible { let description: String }

    /// The address at the other end, at which the agent reaches the server.
    let here: String
    /// The namespace of the agent.
    private let namespace: String
    /// The namespace of the other end.
    private let near: String
    private let inner = "inner"
    private let outer = "outer"
    private let network = "10.213.0"
    private var host = 2
    private var losesPackets = false

    /// - Throws: ``Missing`` if permissions or programs are missing.
    init() async throws {
        here = "\(network).1"
        namespace = "outbox-trial-\(getpid())"
        near = "\(namespace)-near"
        guard geteuid() == 0 else { throw Missing(description: "network namespaces need root") }
        guard Self.program("ip") != nil else { throw Missing(description: "ip(8) is not installed") }
        do {
            try await ip("netns", "add", namespace)
            try await ip("netns", "add", near)
            try await ip("-n", near, "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", namespace)
            try await ip("-n", near, "addr", "add", "\(here)/24", "dev", outer)
            try await ip("-n", near, "link", "set", outer, "up")
            try await ip("-n", namespace, "addr", "add", "\(network).\(host)/24", "dev", inner)
            try await ip("-n", namespace, "link", "set", "lo", "up")
            try await ip("-n", namespace, "link", "set", inner, "up")
        } catch {
            await remove()
            throw Missing(description: "\(error)")
        }
    }

    /// The command through which the agent must start.
    var launcher: [String] { [Self.program("ip") ?? "ip", "netns", "exec", namespace] }

    func down() async throws { try await ip("-n", near, "link", "set", outer, "down") }
    func up() async throws { try await ip("-n", near, "link", "set", outer, "up") }

    /// Creates a TCP socket at the other end. A socket stays in the namespace of the thread that created it (man 7
    /// network_namespaces).
    func socket() throws -> Int32 {
        let own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        defer { close(own) }
        let there = open("/run/netns/\(near)", O_RDONLY | O_CLOEXEC)
        defer { close(there) }
        guard own >= 0, Self.enter(there) else { throw Surprise("no way into \(near): errno \(errno)") }
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard Self.enter(own) else { throw Surprise("no way out of \(near): errno \(errno)") }
        return socket
    }

    /// Moves this thread into a network namespace.
    private static func enter(_ namespace: Int32) -> Bool {
        // glibc declares setns(2) only for programs that define _GNU_SOURCE.
        typealias SetNamespace = @convention(c) (CInt, CInt) -> CInt
        let newNetwork: CInt = 0x4000_0000
        guard let symbol = dlsym(nil, "setns") else { return false }
        return unsafeBitCast(symbol, to: SetNamespace.self)(namespace, newNetwork) == 0
    }

    /// Replaces the address of the agent's side.
    func changeAddress() async throws {
        let old = host
        host += 1
        try await ip("-n", namespace, "addr", "del", "\(network).\(old)/24", "dev", inner)
        try await ip("-n", namespace, "addr", "add", "\(network).\(host)/24", "dev", inner)
    }

    /// Drops this percentage of the agent's packets until ``loseNothing()``.
    ///
    /// - Throws: ``Missing`` if the kernel or its tools cannot drop packets.
    func lose(percent: Int) async throws {
        guard Self.program("nft") != nil else { throw Missing(description: "nft(8) is not installed") }
        // man 8 nft: a chain for incoming packets of one device.
        let table = ["netdev", outer]
        let chain = "{ type filter hook ingress device \(outer) priority 0; }"
        do {
            try await nft(["add", "table"] + table)
            try await nft(["add", "chain"] + table + ["arrivals", chain])
            try await nft(["add", "rule"] + table + ["arrivals", "numgen random mod 100 < \(percent) drop"])
            losesPackets = true
        } catch {
            throw Missing(description: "\(error)")
        }
    }

    func loseNothing() async {
        guard losesPackets else { return }
        losesPackets = false
        try? await nft(["delete", "table", "netdev", outer])
    }

    func remove() async {
        await loseNothing()
        _ = try? await ip("-n", near, "link", "del", outer)
        _ = try? await ip("netns", "del", near)
        _ = try? await ip("netns", "del", namespace)
    }

    private func nft(_ arguments: [String]) async throws {
        try await Self.call(
            [Self.program("ip") ?? "ip", "netns", "exec", near, Self.program("nft") ?? "nft"] + arguments)
    }

    private func ip(_ arguments: String...) async throws {
        try await Self.call([Self.program("ip") ?? "ip"] + arguments)
    }

    private static func call(_ words: [String]) async throws {
        let output = try await Program.run(
            words[0], Array(words.dropFirst()), environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], directory: "/")
        guard output.code == 0 else {
            let reason = output.standardError.trimmingCharacters(in: .whitespacesAndNewlines)
            throw Surprise("\(words.suffix(4).joined(separator: " ")): \(reason)")
        }
    }

    private static func program(_ name: String) -> String? {
        ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }
}
