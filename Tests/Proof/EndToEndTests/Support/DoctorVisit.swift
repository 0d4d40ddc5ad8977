import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// A stopped agent with everything in order except what a test breaks.
struct Patient {
    let agent: Agent
    private let environment: [String: String]

    init(_ url: String, _ settings: Settings = [:], token: String? = nil, environment: [String: String] = [:]) throws {
        self.environment = environment
        let tokenFile: Settings = token == nil ? [:] : ["remote.token_file": "token"]
        agent = try Agent(remote: url, settings.merging(tokenFile) { $1 }, environment: environment)
        try Files.makeDirectory(agent.state)
        chmod(agent.state, 0o700)
        guard let token else { return }
        let path = agent.directory.path("token")
        try Files.write(Array("\(token)\n".utf8), to: path)
        chmod(path, 0o600)
    }

    func visit() async throws -> DoctorVisit {
        try DoctorVisit(try await agent.command("doctor", "--json"))
    }

    /// Runs `outbox doctor` from a shell that prepares something first.
    ///
    /// - Parameters:
    ///   - wrapper: A command that runs the shell.
    ///   - script: The shell commands before the program; `$1` is `argument`.
    func visit(within wrapper: [String], script: String, _ argument: String = "") async throws -> DoctorVisit {
        let shell = ["sh", "-c", script + #"exec "$2" doctor --json --config "$3""#, "sh", argument]
        let command = wrapper + shell + [try Program.path(of: "outbox"), agent.config]
        return try DoctorVisit(
            try await Program.run(
                "/usr/bin/env", command,
                environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": agent.directory.path].merging(
                    environment
                ) { $1 },
                directory: agent.directory.path))
    }
}

/// The report of `outbox doctor --json`.
struct DoctorVisit: CustomStringConvertible {
    private struct Report: Decodable {
        struct Finding: Decodable {
            let check: String
            let level: String
            let message: String
            let remedy: String?
        }
        let ok: Bool
        let findings: [Finding]
    }

    let code: Int32?
    private let report: Report
    let description: String

    init(_ output: Program.Output) throws {
        code = output.code
        description = "\(output)"
        do {
            report = try JSONDecoder().decode(Report.self, from: Data(output.standardOutput.utf8))
        } catch {
            throw Surprise("no report: \(output)")
        }
    }

    var isOK: Bool { report.ok }

    /// Returns the level of a check's first finding.
    func level(_ check: String) -> String? { finding(check)?.level }
    func message(_ check: String) -> String { finding(check)?.message ?? "" }
    func remedy(_ check: String) -> String { finding(check)?.remedy ?? "" }

    private func finding(_ check: String) -> Report.Finding? { report.findings.first { $0.check == check } }
}

/// Ways to change the machine for one test only.
enum Sandbox {
    /// A command prefix that creates a mount namespace.
    static let command = geteuid() == 0 ? ["unshare", "--mount"] : user + ["--mount"]
    /// A command prefix that creates a user namespace.
    static let user = ["unshare", "--user", "--map-root-user"]

    static let hasMounts = works(command + ["sh", "-c", "mount -t tmpfs tmpfs /mnt"])
    static let hasLimits = works(user + ["sh", "-c", "echo 2 > /proc/sys/user/max_inotify_watches"])

    private static func works(_ command: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// `openssl s_server` with a self-made certificate that is valid for two days.
final class TLSServer {
    private static let openssl = "/usr/bin/openssl"
    static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: openssl) }

    let certificate: String
    let url: String
    private let directory: TemporaryDirectory
    private let program: Program

    /// - Parameter names: The subject's alternative names, in openssl's syntax.
    init(names: String) async throws {
        directory = try TemporaryDirectory(prefix: "outbox-tls")
        certificate = directory.path("cert.pem")
        let key = directory.path("key.pem")
        let made = try await Program.run(
            Self.openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=outbox test", "-addext", "subjectAltName=\(names)", "-keyout", key, "-out", certificate,
            ],
            environment: [:], directory: directory.path)
        guard made.code == 0 else { throw Surprise("no certificate: \(made)") }
        let program = try Program(
            Self.openssl, ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www"],
            environment: [:], directory: directory.path, outputPrefix: directory.path("server"))
        self.program = program
        let port = try await Poll.value("the port of openssl s_server", lastState: { program.errorTail() }) {
            program.standardOutput.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") }?
                .split(separator: ":").last.flatMap { Int($0) }
        }
        url = "https://127.0.0.1:\(port)"
    }

    deinit { program.kill(SIGKILL) }
}
