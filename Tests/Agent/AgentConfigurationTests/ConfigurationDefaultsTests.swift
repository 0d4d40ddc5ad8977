import Foundation
import TestSupport
import Testing

@testable import AgentConfiguration

@Suite struct ConfigurationDefaultsTests {
    @Test func `an empty file gives the defaults`() throws {
        let configuration = try load("").configuration
        #expect(configuration == Configuration(home: "/home/ann"))
        #expect(configuration.outbox == "/home/ann/Outbox")
        #expect(configuration.state == "/home/ann/.local/state/outbox")
        #expect(configuration.upload.retryInterval == .seconds(120))
        #expect(configuration.upload.fileTimeout == nil)
        #expect(configuration.intake.maxFileSize == 64 << 30)
    }

    @Test func `the agent.toml of the repository says what the defaults are`() throws {
        let text = try Repository.text("agent.toml")
        #expect(try load(text).configuration == Configuration(home: "/home/ann"))
    }

    @Test func `the agent.toml of the repository holds every key`() throws {
        let effective = try load(try Repository.text("agent.toml"))
        let missing = effective.settings.filter { $0.origin == .default }.map(\.key)
        #expect(missing == [], "add each of these keys to agent.toml, with its default")
    }

    @Test func `every default is a value its own key accepts`() throws {
        let defaults = Configuration(home: "/home/ann")
        for key in ConfigurationKey.all {
            var copy = defaults
            try key.store(key.show(defaults), PathResolver(home: "/home/ann", directory: "/"), &copy)
            #expect(copy == defaults, "\(key.path)")
        }
    }

    @Test func `no two keys share a name or an environment variable`() {
        #expect(Set(ConfigurationKey.all.map(\.path)).count == ConfigurationKey.all.count)
        #expect(Set(ConfigurationKey.all.map(\.variable)).count == ConfigurationKey.all.count)
    }

    @Test(arguments: ConfigurationKey.all.map(\.path))
    func `the manual describes every key as the code has it`(path: String) throws {
        let key = try #require(ConfigurationKey.all.first { $0.path == path })
        let manual = try Repository.text("docs/configuration.md")
        let isDescribed = manual.contains(key.manualRow)
        #expect(isDescribed, "add this row to docs/configuration.md: \(key.manualRow)")
    }

    @Test func `the examples of the manual are valid`() throws {
        let manual = try Repository.text("docs/configuration.md")
        let examples = manual.components(separatedBy: "```toml\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        #expect(examples.count > 5)
        for example in examples { #expect(refusal(example) == nil, "\(example)") }
    }
}

extension ConfigurationKey {
    /// The row of the key in the tables of docs/configuration.md.
    var manualRow: String {
        let value = show(Configuration(home: "~")).description
        return "| `\(name)` | `\(value)` | \(summary) | \(typeName) | `\(variable)` |"
    }
}
