import AgentConfiguration
import TestSupport
import Testing

@testable import Doctor

struct ServiceFactsTests {
    private func facts(_ change: (inout ServiceFacts) -> Void = { _ in }) -> [Finding] {
        var facts = ServiceFacts(
            hasSystemd: true, units: [.init(name: "camera", scope: .user, isEnabled: true)], runningUnit: "camera",
            isRunning: true, isLingering: true, userName: "pi")
        change(&facts)
        return facts.findings
    }

    @Test func `an enabled service that runs without a login is fine`() {
        #expect(facts().map(\.level) == [.ok, .ok])
    }

    @Test func `a machine without systemd, or without a service, is a note`() {
        #expect(facts { $0.hasSystemd = false }.map(\.level) == [.note])
        let none = facts { $0.units = [] }
        #expect(none.map(\.level) == [.note])
        #expect(none[0].remedy == "outbox service install")
        let elsewhere = facts { ($0.units, $0.configuration) = ([], "/srv/my camera.toml") }
        #expect(elsewhere[0].remedy == "outbox service install --config '/srv/my camera.toml'")
    }

    @Test func `a service that is not enabled is a warning with the command to type`() {
        let finding = facts { $0.units[0].isEnabled = false }[0]
        #expect(finding.level == .warning)
        #expect(finding.remedy == "systemctl --user enable --now camera")
    }

    @Test func `a user who does not linger is a warning`() {
        let finding = facts { $0.isLingering = false }[1]
        #expect(finding.level == .warning)
        #expect(finding.remedy == "sudo loginctl enable-linger pi")
    }

    @Test func `a service of the system needs no lingering`() {
        let findings = facts {
            $0.units[0].scope = .system
            $0.isLingering = false
        }
        #expect(findings.map(\.check) == [.service])
    }

    @Test func `a service that does not run is a warning, an agent started by hand a note`() {
        let down = facts {
            $0.runningUnit = nil
            $0.isRunning = false
        }
        #expect(down[0].level == .warning)
        #expect(down[0].remedy?.contains("journalctl --user -u camera") == true)
        #expect(facts { $0.runningUnit = nil }[0].level == .note)
    }

    // MARK: Unit files

    @Test(
        arguments: [
            ("/usr/bin/outbox run --config /home/pi/camera.toml", true),
            ("/usr/bin/outbox run --config=/home/pi/camera.toml", true),
            ("/usr/bin/outbox run --config %h/camera.toml", true),
            ("\"/usr/bin/outbox\" \"run\" \"--config\" \"/home/pi/camera.toml\"", true),
            ("/usr/bin/outbox run --config /home/pi/other.toml", false),
            ("/usr/bin/outbox run", false),
            ("/usr/bin/outbox status --config /home/pi/camera.toml", false),
            ("/usr/bin/rsync run --config /home/pi/camera.toml", false),
        ])
    func `a unit belongs to a configuration by its command line`(command: String, isOurs: Bool) {
        let unit = UnitCommand("[Service]\nType=notify\nExecStart=\(command)\nRestart=always\n")
        #expect(unit.runs(configuration: "/home/pi/camera.toml", usual: nil, home: "/home/pi") == isOurs)
    }

    @Test func `names that a unit has to quote are read`() {
        let unit = UnitCommand(#"ExecStart=/usr/bin/outbox run --config "/my \"$$\" box/100%%.toml""#)
        #expect(unit.runs(configuration: #"/my "$" box/100%.toml"#, usual: nil, home: "/home/pi"))
    }

    @Test func `a command may go on on the next line`() {
        let unit = UnitCommand("ExecStart=/usr/bin/outbox run \\\n  --config /c.toml\n")
        #expect(unit.runs(configuration: "/c.toml", usual: nil, home: "/home/pi"))
    }

    @Test func `a unit without a configuration finds the usual one`() {
        let unit = UnitCommand("ExecStart=/usr/bin/outbox run\n")
        let own = "/home/pi/.config/outbox/agent.toml"
        #expect(unit.runs(configuration: own, usual: own, home: "/home/pi"))
        #expect(unit.runs(configuration: nil, usual: nil, home: "/home/pi"))
        // It would run the agent with another file.
        #expect(!unit.runs(configuration: "/etc/outbox/agent.toml", usual: own, home: "/home/pi"))
        #expect(!unit.runs(configuration: nil, usual: own, home: "/home/pi"))
    }

    @Test func `the unit of a process is told by its control group`() {
        let group = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/camera.service\n"
        #expect(AgentProcess.unit(inCgroup: group) == "camera")
        #expect(AgentProcess.unit(inCgroup: "0::/user.slice/session-2.scope\n") == nil)
    }

    @Test func `units are found where systemd keeps them, enabled or not`() throws {
        let home = try TemporaryDirectory()
        let directory = home.path(".config/systemd/user")
        try Scratch.make(directory + "/default.target.wants")
        try Scratch.write("ExecStart=/usr/bin/outbox run --config /c.toml\n", to: directory + "/camera.service")
        try Scratch.write("ExecStart=/usr/bin/outbox run --config /d.toml\n", to: directory + "/other.service")
        var places = ServiceFacts.Places(home: home.path, environment: [:])
        places.user.removeAll { $0 == "/usr/lib/systemd/user" }
        places.system = []

        let installed = ServiceFacts(configurationFile: "/c.toml", places: places, agent: nil)
        #expect(installed.units == [.init(name: "camera", scope: .user, isEnabled: false)])

        try Scratch.link("../camera.service", at: directory + "/default.target.wants/camera.service")
        let enabled = ServiceFacts(configurationFile: "/c.toml", places: places, agent: nil)
        #expect(enabled.units == [.init(name: "camera", scope: .user, isEnabled: true)])
    }

    @Test func `a package's units count if they are enabled, or if there is no other`() throws {
        let root = try TemporaryDirectory()
        var places = ServiceFacts.Places(home: root.path, environment: [:])
        places.user = [root.path("own"), root.path("package")]
        places.system = [root.path("system")]
        places.packages = [root.path("package"), root.path("system")]
        let unit = "ExecStart=/usr/bin/outbox run\n"
        for directory in ["own/default.target.wants", "package", "system/multi-user.target.wants"] {
            try Scratch.make(root.path(directory))
        }
        try Scratch.write(unit, to: root.path("package/outbox.service"))
        try Scratch.write(unit, to: root.path("system/outbox@.service"))
        func units() -> [ServiceFacts.Unit] {
            ServiceFacts(configurationFile: nil, places: places, agent: nil).units
        }
        #expect(units() == [.init(name: "outbox", scope: .user, isEnabled: false)], "no instance, no service")

        let user = ServiceFacts(configurationFile: nil, places: places, agent: nil).userName
        let instance = root.path("system/multi-user.target.wants/outbox@\(user).service")
        try Scratch.link("../outbox@.service", at: instance)
        #expect(units() == [.init(name: "outbox@\(user)", scope: .system, isEnabled: true)])

        try Scratch.link(root.path("package/outbox.service"), at: root.path("own/default.target.wants/outbox.service"))
        #expect(units().first == .init(name: "outbox", scope: .user, isEnabled: true))

        try Scratch.write("ExecStart=/usr/bin/outbox run --config /c.toml\n", to: root.path("own/outbox.service"))
        #expect(units().count == 1, "the user's own unit of that name goes before the package's")
    }
}
