import Foundation
import TestSupport
import Testing

/// Tests the man pages that scripts/man.py makes of the built programs and of docs/.
@Suite("Man pages")
struct ManualTests {
    private static let environment = ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "SOURCE_DATE_EPOCH": "1795444125"]

    /// Writes all pages into a directory.
    private func write(to directory: TemporaryDirectory) async throws {
        let programs = URL(fileURLWithPath: try Program.path(of: "outbox")).deletingLastPathComponent().path
        let output = try await Program.run(
            "/usr/bin/python3", [Repository.path("scripts/man.py"), programs, directory.path],
            environment: Self.environment, directory: "/")
        try #require(output.code == 0, "\(output.standardError)")
    }

    private func page(_ name: String, in directory: TemporaryDirectory) throws -> String {
        try String(contentsOfFile: directory.path(name), encoding: .utf8)
    }

    @Test("every command has a page, with its options and exit statuses")
    func commands() async throws {
        let directory = try TemporaryDirectory()
        try await write(to: directory)
        let agent = try page("outbox.1", in: directory)
        let names = agent.matches(of: #/\.TP\n\\fB(outbox[a-z\\-]+)\\fR\(1\)/#).map {
            String($0.1).replacing("\\-", with: "-")
        }
        #expect(Set(["outbox-run", "outbox-status", "outbox-login", "outbox-service"]).isSubset(of: names))
        for name in names { #expect(try page("\(name).1", in: directory).contains(".SH OPTIONS"), "\(name)") }
        #expect(try page("outbox-wait.1", in: directory).contains("\\fB\\-\\-timeout\\fR \\fI"))
        #expect(try page("outbox-service-install.1", in: directory).contains(".SH EXAMPLES"))
        #expect(try page("outbox-receiver.1", in: directory).contains(".TP\n\\fB78\\fR\n"))
        #expect(try page("outbox-media.8", in: directory).contains(".SH EXIT STATUS"))
        #expect(agent.contains("2026-11-23"), "the date of SOURCE_DATE_EPOCH")
    }

    @Test("agent.toml(5) has every key of the reference, outbox-sidecar(5) every field")
    func formats() async throws {
        let directory = try TemporaryDirectory()
        try await write(to: directory)
        let keys = try Repository.text("agent.toml").matches(of: #/(?m)^([a-z_0-9]+) *= /#).map { String($0.1) }
        #expect(keys.count > 50)
        let configuration = try page("agent.toml.5", in: directory)
        for key in keys { #expect(configuration.contains(".TP\n\\fB\(key)\\fR\n"), "\(key)") }
        let sidecar = try page("outbox-sidecar.5", in: directory)
        for field in ["version", "progress", "next_attempt_at", "signed_out"] {
            #expect(sidecar.contains(".TP\n\\fB\(field)\\fR\n"), "\(field)")
        }
    }

    @Test(
        "mandoc finds nothing to complain of",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/mandoc"), "mandoc is not installed"))
    func lint() async throws {
        let directory = try TemporaryDirectory()
        try await write(to: directory)
        let pages = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        let output = try await Program.run(
            "/usr/bin/mandoc", ["-Tlint"] + pages, environment: Self.environment,
            directory: directory.path)
        #expect(output.code == 0 && output.standardOutput.isEmpty, "\(output.standardOutput)")
    }
}
