import Foundation
import TestSupport
import Testing

@testable import AgentConfiguration

@Suite struct EffectiveConfigurationTests {
    private func line(_ key: String, in effective: EffectiveConfiguration) -> String? {
        effective.lines().first { $0.hasPrefix(key + " ") }
    }

    @Test func `each line tells key, value and origin`() throws {
        let effective = try load(
            "[upload]\nfiles_in_flight = 3", environment: ["OUTBOX_UPLOAD_RETRY_INTERVAL": "60s"])
        #expect(effective.lines().count == ConfigurationKey.all.count)
        let columns = { (key: String) in line(key, in: effective)?.split(separator: " ").joined(separator: " ") }
        #expect(columns("upload.files_in_flight") == "upload.files_in_flight = 3 # /etc/agent.toml:2")
        #expect(
            columns("upload.retry_interval")
                == "upload.retry_interval = \"1m\" # environment OUTBOX_UPLOAD_RETRY_INTERVAL")
        #expect(columns("upload.stall_timeout") == "upload.stall_timeout = \"30s\" # default")
    }

    @Test func `the lines are aligned`() throws {
        let short = try load("").lines().filter { !$0.hasPrefix("intake.ignore") }
        #expect(Set(short.map { $0.prefix { $0 != "=" }.count }).count == 1)
    }

    @Test func `what is printed, read again, is the same configuration`() throws {
        let text = try Repository.text("agent.toml") + "\n[avatar_styles.x]\n"
        let effective = try load(text.replacing("\n[avatar_styles.x]\n", with: ""))
        #expect(try load(effective.lines().joined(separator: "\n")).configuration == effective.configuration)
    }

    @Test func `secrets of the environment are masked`() throws {
        let environment = ["OUTBOX_TOKEN": "hunter2", "AWS_SECRET_ACCESS_KEY": "hunter3"]
        let effective = try load("", environment: environment)
        let printed = try effective.lines().joined() + String(decoding: JSONEncoder().encode(effective), as: UTF8.self)
        #expect(!printed.contains("hunter"))
        #expect(effective.settings.last?.origin == .environment("OUTBOX_TOKEN"))
    }

    @Test func `the JSON form has bare values`() throws {
        let effective = try load("[avatar_styles]\nlist = [\"original\"]")
        let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(effective)) as? [String: Any]
        let settings = try #require(json?["settings"] as? [[String: Any]])
        let setting = { (key: String) in settings.first { $0["key"] as? String == key } }
        #expect(json?["file"] as? String == "/etc/agent.toml")
        #expect(setting("upload.files_in_flight")?["value"] as? Int == 5)
        #expect(setting("intake.media_only")?["value"] as? Bool == true)
        #expect(setting("avatar_styles.list")?["value"] as? [String] == ["original"])
        #expect(setting("avatar_styles.list")?["origin"] as? String == "/etc/agent.toml:2")
    }

    @Test func `a reload takes the live keys and names those that need a restart`() throws {
        let running = try load("")
        let new = try load(
            "outbox = \"/b\"\nupload.files_in_flight = 9\nlog.level = \"debug\"\navatar_styles.a = [\"original\"]")
        let (configuration, needRestart) = running.adoptingLiveKeys(of: new)
        #expect(configuration.upload.filesInFlight == 9)
        #expect(configuration.log.level == .debug)
        #expect(configuration.outbox == "/home/ann/Outbox")
        #expect(needRestart == ["outbox", "avatar_styles"])
    }

    @Test func `after a reload the live keys are shown as in force, and no others`() throws {
        let running = try load("")
        let shown = running.withLiveSettings(of: try load("outbox = \"/b\"\nupload.files_in_flight = 9"))
        #expect(line("upload.files_in_flight", in: shown)?.contains("= 9 ") == true)
        #expect(line("outbox", in: shown) == line("outbox", in: running))
        #expect(shown.lines().count == running.lines().count)
    }

    @Test func `the socket moves to the runtime directory when its path would be too long`() throws {
        let short = try load("").configuration
        #expect(short.controlSocket(runtimeDirectory: "/run/user/1") == "/home/ann/.local/state/outbox/control.sock")
        let long = try load("state = \"/\(String(repeating: "s", count: 120))\"").configuration
        let socket = long.controlSocket(runtimeDirectory: "/run/user/1")
        #expect(socket.hasPrefix("/run/user/1/outbox-") && socket.utf8.count <= 107)
        #expect(long.controlSocket(runtimeDirectory: nil).hasPrefix("/tmp/outbox-"))
        let chosen = try load("control.socket = \"s.sock\"").configuration
        #expect(chosen.controlSocket(runtimeDirectory: "/run/user/1") == "/etc/s.sock")
    }
}
