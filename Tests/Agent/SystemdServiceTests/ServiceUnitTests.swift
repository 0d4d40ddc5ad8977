@testable import LinuxSystem
import Foundation
import TestSupport
import Testing

@testable import AgentConfiguration
@testable import SystemdService

@Suite("The unit")
struct ServiceUnitTests {
    static let ann = ServiceAccount(name: "ann", userID: 1000, groupID: 1000, home: "/home/ann")

    private func unit(
        _ scope: ServiceScope = .user, program: String = "/usr/bin/outbox", file: String? = nil,
        isConfined: Bool = false,
        _ change: (inout Configuration) -> Void = { _ in }
    ) throws -> ServiceUnit {
        var configuration = Configuration(home: "/home/ann")
        change(&configuration)
        return try ServiceUnit(
            name: "outbox", program: Array(program.utf8), file: file, configuration: configuration, scope: scope,
            runtimeDirectory: "/run/user/1000", isConfined: isConfined)
    }

    private func values(_ key: String, _ unit: ServiceUnit) -> [String] {
        unit.text.split(separator: "\n").filter { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
    }

    @Test("writing is allowed only in the agent's directories")
    func writable() throws {
        let unit = try unit { $0.sidecars.directory = "/srv/sidecars" }
        #expect(
            values("ReadWritePaths", unit) == [
                "-/home/ann/.cache/outbox/avatars", "-/home/ann/.local/state/outbox", "-/home/ann/Outbox",
                "-/srv/sidecars",
            ])
        #expect(values("ProtectSystem", unit) == ["strict"])
    }

    @Test("a directory inside another is not listed twice")
    func nested() throws {
        let unit = try unit {
            $0.outbox = "/srv/x"
            $0.state = "/srv/x/state"
            $0.avatars = "/srv/xx"
            $0.control.socket = "/srv/run/control.sock"
        }
        #expect(values("ReadWritePaths", unit) == ["-/srv/run", "-/srv/x", "-/srv/xx"])
    }

    @Test("no mount of the sandbox keeps a disk from being unmounted")
    func removable() throws {
        let unit = try unit { $0.outbox = "/media/ann/CAMERA/outbox" }
        #expect(values("ReadWritePaths", unit).contains("-/media"))
        #expect(!unit.text.contains("RequiresMountsFor"))
        #expect(unit.directories.contains("/media/ann/CAMERA/outbox"))
    }

    @Test("a socket in the user's runtime directory can be created")
    func runtimeDirectory() throws {
        let unit = try unit { $0.state = "/srv/" + String(repeating: "s", count: 120) }
        #expect(values("ReadWritePaths", unit).contains("-/run/user/1000"))
    }

    @Test("a system unit hides home directories unless the agent uses one")
    func homes() throws {
        #expect(values("ProtectHome", try unit(.system(Self.ann))) == ["read-only"])
        let elsewhere: (inout Configuration) -> Void = {
            $0.outbox = "/srv/outbox"
            $0.state = "/var/lib/outbox"
            $0.avatars = "/var/cache/outbox"
        }
        #expect(values("ProtectHome", try unit(.system(Self.ann), elsewhere)) == ["yes"])
        #expect(
            values("ProtectHome", try unit(.user, elsewhere)) == ["read-only"],
            "the user's service manager listens below /run/user")
    }

    @Test(
        "/tmp is shared with the system if the agent uses /tmp", arguments: ["/tmp/outbox", "/var/tmp/outbox"])
    func temporary(path: String) throws {
        #expect(values("PrivateTmp", try unit()) == ["yes"])
        #expect(values("PrivateTmp", try unit { $0.outbox = path }).isEmpty)
        #expect(values("PrivateTmp", try unit(file: path + ".toml")).isEmpty)
    }

    @Test(
        "a user unit sets capabilities only if the service manager supports them, else it would not start",
        arguments: [
            "CapabilityBoundingSet", "PrivateDevices", "ProtectKernelModules", "ProtectKernelLogs", "ProtectClock",
            "ProtectHostname", "PrivateUsers", "User",
        ])
    func userUnit(key: String) throws {
        #expect(values(key, try unit()).isEmpty)
        #expect(values(key, try unit(isConfined: true)).count == (key == "User" ? 0 : 1))
        #expect(values(key, try unit(.system(Self.ann))).count == 1)
    }

    @Test("the unit names the configuration, and leaves waiting for the outbox's disk to the agent")
    func command() throws {
        let unit = try unit(.system(Self.ann), file: "/etc/my outbox/100%.toml")
        #expect(values("ExecStart", unit) == [#"/usr/bin/outbox run --config "/etc/my outbox/100%%.toml""#])
        #expect(
            values("RequiresMountsFor", unit) == [#""/etc/my outbox/100%%.toml" /home/ann/.local/state/outbox"#])
        #expect(values("Description", unit) == ["Outbox upload agent (/etc/my outbox/100%%.toml)"])
        #expect(values("User", unit) == ["ann"])
    }

    @Test(
        "the examples in packaging equal the generator's output",
        arguments: [
            ("packaging/user/outbox.service", ServiceScope.user, nil, false),
            ("packaging/user-confined/outbox.service", ServiceScope.user, nil, true),
            ("packaging/system/outbox.service", .system(ann), "/etc/outbox/agent.toml", false),
        ])
    func examples(path: String, scope: ServiceScope, file: String?, isConfined: Bool) throws {
        let example = try Repository.text(path)
        #expect(try unit(scope, file: file, isConfined: isConfined).text == example)
    }
}

@Suite("The unit, checked by systemd", .enabled(if: SystemdAnalyze.isThere, "systemd-analyze is not installed"))
struct ServiceUnitVerificationTests {
    private static let scopes: [ServiceScope] = [.user, .system(ServiceUnitTests.ann)]

    /// Writes a unit for a program in a directory whose name needs much escaping.
    private func write(_ scope: ServiceScope, in directory: TemporaryDirectory) throws -> String {
        let odd = directory.path("my 100%n $HOME;#ü")
        try FileManager.default.createDirectory(atPath: odd, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: odd + "/outbox", withDestinationPath: "/bin/true")
        var configuration = Configuration(home: "/home/ann")
        configuration.outbox = #"/home/ann/O"u\tb 100%i 'x"#
        let scope = scope == .user ? scope : .system(try #require(ServiceAccount(named: "nobody")))
        let unit = try ServiceUnit(
            name: "outbox", program: Array((odd + "/outbox").utf8), file: odd + "/a\n\"b'.toml",
            configuration: configuration, scope: scope)
        let path = directory.path("outbox.service")
        try unit.text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test("passes systemd-analyze verify", arguments: scopes)
    func verify(scope: ServiceScope) async throws {
        let directory = try TemporaryDirectory()
        // A system unit needs RequiresMountsFor= for its configuration, and that setting allows no control character.
        guard scope == .user else {
            #expect(throws: ServiceError.self) { try write(scope, in: directory) }
            return
        }
        let path = try write(scope, in: directory)
        let output = try await SystemdAnalyze.run(["verify", "--user", "--man=no", path], in: directory)
        #expect(output.code == 0 && output.standardError.isEmpty, "\(output.standardError)")
    }

    // systemd-analyze treats every unit as a system unit: a user unit without User= wrongly counts as root with all
    // capabilities.
    @Test(
        "of each example is well confined",
        arguments: [("user", 5.8), ("user-confined", 2.1), ("system", 1.6)])
    func exposure(kind: String, most: Double) async throws {
        let directory = try TemporaryDirectory()
        let unit = Repository.path("packaging/\(kind)/outbox.service")
        try await SystemdAnalyze.expectExposure(of: unit, most: most, in: directory)
    }

    @Test("of the receiver is well confined")
    func receiver() async throws {
        let directory = try TemporaryDirectory()
        let text = try Repository.text("packaging/receiver/outbox-receiver.service")
        let unit = directory.path("outbox-receiver.service")
        // Replace the program, because this machine may not have it.
        try text.replacing("/usr/bin/outbox-receiver", with: "/bin/true")
            .write(toFile: unit, atomically: true, encoding: .utf8)
        try await SystemdAnalyze.expectExposure(of: unit, most: 1.9, in: directory)
    }
}

enum SystemdAnalyze {
    static let path = "/usr/bin/systemd-analyze"
    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// - Parameter most: The exposure that is still accepted, from 0 (none) to 10.
    static func expectExposure(of unit: String, most: Double, in directory: TemporaryDirectory) async throws {
        let output = try await run(
            ["security", "--offline=true", "--threshold=\(Int((most * 10).rounded()))", "--no-pager", unit],
            in: directory)
        #expect(output.code == 0, "\(output.standardOutput.split(separator: "\n").last ?? "")")
    }

    static func run(_ arguments: [String], in directory: TemporaryDirectory) async throws -> Program.Output {
        try await Program.run(
            path, arguments,
            environment: ["PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": directory.path, "HOME": directory.path],
            directory: directory.path)
    }
}
