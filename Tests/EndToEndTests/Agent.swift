import Foundation
import Glibc
import TestSupport

/// An agent with an outbox, a state directory and a configuration of its own, in a temporary directory.
final class Agent {
    let directory: TemporaryDirectory
    let outbox: String
    let state: String
    let config: String
    private(set) var program: Program?
    private var settings: Settings
    private var environment: [String: String]

    /// Makes the directories and writes the configuration; starts nothing.
    init(remote url: String, _ settings: Settings = [:], environment: [String: String] = [:]) throws {
        directory = try TemporaryDirectory(prefix: "outbox-e2e")
        outbox = directory.path("outbox")
        state = directory.path("state")
        config = directory.path("agent.toml")
        self.environment = [
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": directory.path, "LANG": "C.UTF-8", "TMPDIR": directory.path,
        ].merging(environment) { $1 }
        let usual: Settings = [
            "outbox": "outbox", "state": "state", "avatars": "avatars", "intake.settle": "50ms",
            "upload.retry_interval": "1s", "remote.url": .string(url), "control.dashboard": "",
        ]
        self.settings = usual.merging(settings) { $1 }
        try FileManager.default.createDirectory(atPath: outbox, withIntermediateDirectories: true)
        try writeConfiguration()
    }

    deinit { program?.kill(SIGKILL) }

    /// Changes settings for the next start.
    func configure(_ changes: Settings) throws {
        settings.merge(changes) { $1 }
        try writeConfiguration()
    }

    private func writeConfiguration() throws {
        try Setting.document(settings).write(toFile: config, atomically: true, encoding: .utf8)
    }

    // MARK: The process

    /// Starts `outbox run`; does not wait for anything.
    func launch() throws {
        program = try Program(
            "outbox", ["run", "--config", config], environment: environment, directory: directory.path,
            outputPrefix: directory.path("agent"))
    }

    /// Starts `outbox run` and waits until it answers on its socket.
    func start() async throws {
        try launch()
        try await Poll.until("the agent's health", lastState: { self.log }) {
            if let ending = program?.ending { throw Surprise("the agent ended while starting: \(ending)\n\(log)") }
            return ControlSocket.get("/v1/health", socket: "\(state)/control.sock")?.status == 200
        }
    }

    /// `kill -9` and waits for the end.
    func kill() async throws {
        program?.kill(SIGKILL)
        try await program?.wait()
        program = nil
    }

    /// Asks it to end, and tells how it did.
    @discardableResult
    func stop(timeout: Duration = .seconds(30)) async throws -> Program.Ending? {
        program?.kill(SIGTERM)
        defer { program = nil }
        return try await program?.wait(timeout: timeout)
    }

    /// Runs another command of `outbox` with this configuration.
    func command(_ arguments: String..., timeout: Duration = .seconds(90)) async throws -> Program.Output {
        try await Program.run(
            "outbox", arguments + ["--config", config], environment: environment, directory: outbox, timeout: timeout)
    }

    /// The last lines of its log.
    var log: String { program?.errorTail() ?? "the agent is not running" }

    // MARK: Files

    func path(_ name: String) -> String { "\(outbox)/\(name)" }

    /// Writes a file straight into the outbox, making its directories.
    func drop(_ name: String, _ bytes: [UInt8]) throws {
        let parent = URL(fileURLWithPath: path(name)).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        try Files.write(bytes, to: path(name))
    }

    /// Drops a media file of this size and returns its key.
    @discardableResult
    func drop(_ name: String, _ media: SampleMedia, size: Int, seed: UInt64 = .random(in: 0 ... .max)) throws -> String
    {
        let bytes = media.bytes(size: size, seed: seed)
        try drop(name, bytes)
        return Digest.md5(bytes)
    }

    func remove(_ name: String) { unlink(path(name)) }

    func exists(_ name: String) -> Bool {
        var status = stat()
        return lstat(path(name), &status) == 0
    }

    // MARK: Sidecars

    /// The sidecar beside `name`, nil where there is none.
    ///
    /// - Throws: `DecodingError` where it is not what contract 3 says: readers never see half of one.
    func sidecar(_ name: String) throws -> Sidecar? {
        try sidecar(named: name + ".outbox.json")
    }

    func sidecar(named name: String) throws -> Sidecar? {
        guard let data = FileManager.default.contents(atPath: path(name)) else { return nil }
        return try JSONDecoder().decode(Sidecar.self, from: data)
    }

    /// Waits until the sidecar of `name` says one of `states`; another final state ends the waiting at once.
    @discardableResult
    func reached(
        _ name: String, _ states: Sidecar.State..., timeout: Duration = .seconds(60),
        where condition: (Sidecar) -> Bool = { _ in true }
    ) async throws -> Sidecar {
        var last: Sidecar?
        return try await Poll.value(
            "\(name) to be \(states.map(\.rawValue).joined(separator: " or "))", timeout: timeout,
            lastState: { "\(last.map { "\($0)" } ?? "no sidecar")\n\(self.log)" },
            look: {
                last = try sidecar(name)
                guard let last else { return nil }
                if states.contains(last.state) { return condition(last) ? last : nil }
                if last.state.isFinal { throw Surprise("\(name) ended as \(last)\n\(log)") }
                return nil
            })
    }
}

/// Something that a test did not expect and cannot go on with.
struct Surprise: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
