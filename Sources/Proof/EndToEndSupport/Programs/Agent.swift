import Foundation
import Glibc
package import TestSupport

/// An agent with an outbox, a state directory and a configuration of its own, in a temporary directory.
package final class Agent {
    package let directory: TemporaryDirectory
    package let outbox: String
    package let state: String
    package let config: String
    package private(set) var program: Program?
    private var settings: Settings
    /// The complete environment for the next start.
    package var environment: [String: String]
    /// A program with its arguments, such as `unshare`, that executes the agent at the next start.
    package var launcher: [String] = []

    /// Creates the directories and writes the configuration; starts nothing.
    ///
    /// - Parameter parent: The directory in which to create the agent's directory; the caller then removes it. Nil: a
    ///   temporary directory, removed with this value.
    package init(
        remote url: String, _ settings: Settings = [:], environment: [String: String] = [:], in parent: String? = nil
    ) throws {
        directory = try TemporaryDirectory(prefix: parent == nil ? "outbox-e2e" : "agent", in: parent)
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

    /// Text behind the settings: tables that a setting can't express. Takes effect with ``configure(_:)``.
    package var appendix = ""

    /// Changes settings for the next start.
    package func configure(_ changes: Settings) throws {
        settings.merge(changes) { $1 }
        try writeConfiguration()
    }

    private func writeConfiguration() throws {
        try (Setting.document(settings) + appendix).write(toFile: config, atomically: true, encoding: .utf8)
    }

    // MARK: The process

    /// Starts `outbox run` without waiting.
    package func launch() throws {
        var words = ["outbox", "run", "--config", config]
        if !launcher.isEmpty { words = try launcher + [Program.path(of: words[0])] + words.dropFirst() }
        program = try Program(
            words[0], Array(words.dropFirst()), environment: environment, directory: directory.path,
            outputPrefix: directory.path("agent"))
    }

    /// Starts `outbox run` and waits until the control socket answers.
    package func start() async throws {
        try launch()
        try await Poll.until("the agent's health", lastState: { self.log }) {
            if let ending = program?.ending { throw Surprise("the agent ended while starting: \(ending)\n\(log)") }
            return isAnswering
        }
    }

    /// The path of the agent's control socket.
    package var socket: String { "\(state)/control.sock" }

    /// Whether the agent answers at its control socket.
    /// The problems that need a person, by their code, as the agent's health lists them.
    package var problems: [String: String] {
        struct Health: Decodable {
            struct Item: Decodable {
                var code: String
                var message: String
            }
            var attention: [Item]
        }
        guard let reply = ControlSocket.get("/v1/health", socket: socket),
            let health = try? JSONDecoder().decode(Health.self, from: reply.body)
        else { return [:] }
        return Dictionary(health.attention.map { ($0.code, $0.message) }) { first, _ in first }
    }

    package var isAnswering: Bool { ControlSocket.get("/v1/health", socket: socket)?.status == 200 }

    /// Kills the agent with SIGKILL and waits for its end.
    package func kill() async throws {
        program?.kill(SIGKILL)
        try await program?.wait()
        program = nil
    }

    /// Stops the agent with SIGTERM and returns how it ended.
    @discardableResult
    package func stop(timeout: Duration = .seconds(120)) async throws -> Program.Ending? {
        program?.kill(SIGTERM)
        defer { program = nil }
        return try await program?.wait(timeout: timeout)
    }

    /// Runs another command of `outbox` with this configuration.
    package func command(_ arguments: String..., timeout: Duration = .seconds(150)) async throws -> Program.Output {
        try await command(arguments, timeout: timeout)
    }

    /// Runs another command of `outbox` with this configuration.
    package func command(_ arguments: [String], timeout: Duration = .seconds(150)) async throws -> Program.Output {
        try await Program.run(
            "outbox", arguments + ["--config", config], environment: environment, directory: outbox, timeout: timeout)
    }

    /// The last lines of the agent's log.
    package var log: String { program?.errorTail() ?? "the agent is not running" }

    // MARK: Files

    package func path(_ name: String) -> String { "\(outbox)/\(name)" }

    /// Writes a file directly into the outbox, creating its directories.
    package func drop(_ name: String, _ bytes: [UInt8]) throws {
        let parent = URL(fileURLWithPath: path(name)).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        try Files.write(bytes, to: path(name))
    }

    /// Drops a media file of this size and returns its key.
    @discardableResult
    package func drop(_ name: String, _ media: SampleMedia, size: Int, seed: UInt64 = .random(in: 0 ... .max)) throws
        -> String
    {
        let bytes = media.bytes(size: size, seed: seed)
        try drop(name, bytes)
        return Digest.md5(bytes)
    }

    package func remove(_ name: String) { unlink(path(name)) }

    /// Removes a directory with all its files. Tries again if the agent has just written a sidecar there.
    package func remove(directory: String) async throws {
        try await Poll.until("\(directory) to be removed") {
            try? FileManager.default.removeItem(atPath: directory)
            return !FileManager.default.fileExists(atPath: directory)
        }
    }

    package func exists(_ name: String) -> Bool {
        var status = stat()
        return lstat(path(name), &status) == 0
    }

    // MARK: Sidecars

    /// Returns the sidecar beside `name`, or nil if there is none.
    ///
    /// - Throws: `DecodingError` if the sidecar violates contract 3: readers never see a partial sidecar.
    package func sidecar(_ name: String) throws -> Sidecar? {
        try sidecar(named: name + ".outbox.json")
    }

    package func sidecar(named name: String) throws -> Sidecar? {
        guard let data = FileManager.default.contents(atPath: path(name)) else { return nil }
        return try JSONDecoder().decode(Sidecar.self, from: data)
    }

    /// Waits until the sidecar of `name` shows one of `states`. Throws at once if the file reaches another final
    /// state.
    @discardableResult
    package func reached(
        _ name: String, _ states: Sidecar.State..., timeout: Duration = .seconds(150),
        where condition: (Sidecar) -> Bool = { _ in true }
    ) async throws -> Sidecar {
        try await reached(name, states, isLast: \.isFinal, timeout: timeout, where: condition)
    }

    /// Waits until the sidecar of `name` shows one of `states`, even if it still shows a final state that the file has
    /// left.
    @discardableResult
    package func returned(_ name: String, to states: Sidecar.State...) async throws -> Sidecar {
        try await reached(name, states, isLast: { _ in false }, timeout: .seconds(150), where: { _ in true })
    }

    private func reached(
        _ name: String, _ states: [Sidecar.State], isLast: (Sidecar.State) -> Bool, timeout: Duration,
        where condition: (Sidecar) -> Bool
    ) async throws -> Sidecar {
        var last: Sidecar?
        return try await Poll.value(
            "\(name) to be \(states.map(\.rawValue).joined(separator: " or "))", timeout: timeout,
            lastState: { "\(last?.brief ?? "no sidecar")\n\(self.log)" },
            look: {
                last = try sidecar(name)
                guard let last else { return nil }
                if states.contains(last.state) { return condition(last) ? last : nil }
                if isLast(last.state) { throw Surprise("\(name) ended as \(last.brief)\n\(log)") }
                return nil
            })
    }
}
