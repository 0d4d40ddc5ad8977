import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// A network namespace for the agent, with a link to this namespace that the trial can take down and degrade.
///
/// Uses ip(8) and nft(8); needs root.
final class NetworkLink {
    /// A requirement of the link that this machine lacks.
    struct Missing: Error, CustomStringConvertible { let description: String }

    /// The address of this side, at which the agent reaches the server.
    let here: String
    private let namespace: String
    private let inner: String
    private let outer: String
    private let network: String
    private var host = 2
    private var losesPackets = false

    /// - Throws: ``Missing`` if permissions or programs are missing.
    init() async throws {
        let number = Int(getpid()) % 250
        network = "10.213.\(number)"
        here = "\(network).1"
        namespace = "outbox-trial-\(getpid())"
        (inner, outer) = ("otin\(number)", "otout\(number)")
        guard geteuid() == 0 else { throw Missing(description: "network namespaces need root") }
        guard Self.program("ip") != nil else { throw Missing(description: "ip(8) is not installed") }
        do {
            try await ip("netns", "add", namespace)
            try await ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", namespace)
            try await ip("addr", "add", "\(here)/24", "dev", outer)
            try await ip("link", "set", outer, "up")
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

    func down() async throws { try await ip("link", "set", outer, "down") }
    func up() async throws { try await ip("link", "set", outer, "up") }

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
        guard let nft = Self.program("nft") else { throw Missing(description: "nft(8) is not installed") }
        // man 8 nft: a chain for incoming packets of one device.
        let table = ["netdev", outer]
        let chain = "{ type filter hook ingress device \(outer) priority 0; }"
        do {
            try await Self.call([nft, "add", "table"] + table)
            try await Self.call([nft, "add", "chain"] + table + ["arrivals", chain])
            try await Self.call(
                [nft, "add", "rule"] + table + ["arrivals", "numgen random mod 100 < \(percent) drop"])
            losesPackets = true
        } catch {
            throw Missing(description: "\(error)")
        }
    }

    func loseNothing() async {
        guard losesPackets, let nft = Self.program("nft") else { return }
        losesPackets = false
        try? await Self.call([nft, "delete", "table", "netdev", outer])
    }

    func remove() async {
        await loseNothing()
        _ = try? await ip("link", "del", outer)
        _ = try? await ip("netns", "del", namespace)
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
