import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// A server that somebody else wrote. `make test-servers` starts some and names their directory in
/// `OUTBOX_TEST_SERVERS`; scripts/servers/run.py describes its files.
struct RealServer: Sendable, CustomTestStringConvertible {
    /// What remains on the server after a kill.
    enum Keeps: String, Decodable {
        case everything, nothing
        /// Finished contents; unfinished uploads are forgotten.
        case objects
    }

    struct Facts: Decodable {
        let name: String
        let version: String
        let `protocol`: String
        let settings: [String: String]
        let environment: [String: String]
        let keeps: Keeps
        /// Environments with credentials that the server refuses.
        let wrong: [[String: String]]
    }

    let facts: Facts
    private let number: Int

    var testDescription: String { "\(facts.name) \(facts.version)" }

    static let directory = ProcessInfo.processInfo.environment["OUTBOX_TEST_SERVERS"]

    /// All running servers; empty if `make test-servers` did not start the tests.
    static let all: [RealServer] = {
        guard let directory, let data = FileManager.default.contents(atPath: "\(directory)/servers.json"),
            let facts = try? JSONDecoder().decode([Facts].self, from: data)
        else { return [] }
        return facts.enumerated().map { RealServer(facts: $1, number: $0) }
    }()

    static let stores = all.filter { $0.facts.protocol == "s3" }

    /// Creates an agent for this server, with a prefix of its own on S3.
    func agent(_ settings: Settings = [:], environment: [String: String]? = nil) throws -> Agent {
        var own = facts.settings.mapValues { Setting.string($0) }
        if facts.protocol == "s3" { own["remote.prefix"] = .string("\(UUID().uuidString)/") }
        return try Agent(
            remote: facts.settings["remote.url"] ?? "", own.merging(settings) { $1 },
            environment: environment ?? facts.environment)
    }

    // MARK: The server, seen by another client

    /// Returns the names of all finished contents with this size and MD5.
    func contents(size: Int, md5: String) throws -> [String] {
        try ask("GET", "contents?size=\(size)&md5=\(md5)")
    }

    /// Whether the server keeps an unfinished upload.
    ///
    /// - Parameter id: `remote.id` of a sidecar.
    func isOpen(_ id: String) throws -> Bool {
        try ask("GET", "open?id=\(id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? id)")
    }

    /// Returns the bytes of an object of a store.
    func object(_ key: String) throws -> String {
        try ask("GET", "object?key=\(key.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? key)")
    }

    /// Returns the keys of all objects of a store with this prefix.
    func keys(prefix: String) throws -> [String] { try ask("GET", "keys?prefix=\(prefix)") }

    /// Kills the process that stores or serves contents.
    func kill() throws { let _: Nothing = try ask("POST", "kill") }

    func restart() throws { let _: Nothing = try ask("POST", "restart") }

    private struct Nothing: Decodable {}

    private func ask<Answer: Decodable>(_ method: String, _ target: String) throws -> Answer {
        guard
            let answer = ControlSocket.ask(
                method, "/\(number)/\(target)", socket: "\(Self.directory ?? "")/control.sock")
        else { throw Surprise("\(method) \(target): no answer from scripts/servers/run.py") }
        guard answer.status == 200 else {
            throw Surprise("\(method) \(target): \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try JSONDecoder().decode(Answer.self, from: answer.body)
    }
}

extension RealServer {
    /// Waits until a file is done, and checks that another client finds its content on the server exactly once.
    @discardableResult
    func expectArrived(
        _ name: String, of agent: Agent, key: String, size: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Sidecar {
        let sidecar = try await agent.reached(name, .done, timeout: .seconds(300))
        #expect(sidecar.key == key, sourceLocation: sourceLocation)
        #expect(sidecar.remote?.protocol == facts.protocol, sourceLocation: sourceLocation)
        #expect(try contents(size: size, md5: key).count == 1, "copies of \(name)", sourceLocation: sourceLocation)
        return sidecar
    }

    /// Waits until the server has a part of an upload, but not all, and returns the upload's id.
    func underWay(_ name: String, of agent: Agent) async throws -> String {
        let sidecar = try await agent.reached(name, .uploading, .waiting) { $0.progress > 0 && $0.remote?.id != nil }
        return try #require(sidecar.remote?.id)
    }
}
