import TestSupport
import Testing

@testable import AgentConfiguration

/// A text with a name for the test's output, because the text itself is too long.
struct HostileText: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let message: String

    init(_ name: String, _ text: String, _ message: String) {
        (testDescription, self.text, self.message) = (name, text, message)
    }
}

@Suite struct HostileConfigurationTests {
    private func refusal(_ text: [UInt8]) -> String? {
        let loader = ConfigurationLoader(home: "/home/ann", currentDirectory: "/work", environment: [:])
        do throws(ConfigurationErrors) {
            _ = try loader.load(text: text, file: "agent.toml")
            return nil
        } catch {
            return error.description
        }
    }

    @Test(arguments: [
        HostileText("dotted key", String(repeating: "a.", count: 400_000) + "a = 1", "1: is nested too deeply"),
        HostileText("header", "\n[" + String(repeating: "a.", count: 400_000) + "a]\n= 1", "2: is nested too deeply"),
        HostileText("arrays", "a = " + String(repeating: "[", count: 400_000), "1: is nested too deeply"),
        HostileText("inline tables", "a = " + String(repeating: "{a=", count: 300_000), "1: is nested too deeply"),
        HostileText(
            "header without a name", "\n[.upload]", "2: is not TOML: [ must be followed by the name of a table"),
        HostileText("header without an end", "[", "1: is not TOML: [ must be followed by the name of a table"),
        HostileText("three brackets", "[[[a]]]", "1: is not TOML: [ must be followed by the name of a table"),
        HostileText("array with a brace", "a = [1,\n}]", "2: is not TOML: an array must end in ]"),
        HostileText("long key", "\"\(String(repeating: "x", count: 100_000))\" = 1", "1: \"xxxx"),
        HostileText("integer", "a = 99999999999999999999999999", "1: is not TOML"),
        HostileText("float", "a = 1e999999999", "1: is not TOML"),
        HostileText("surrogate", "a = \"\\uD800\"", "1: is not TOML"),
        HostileText("open string", "a = \"\"\"never closed", "1: is not TOML"),
        HostileText("table twice", "[upload]\n[upload]", "2: is not TOML"),
        HostileText("escaped NUL", "\na = \"x\\u0000y\"", "2: holds a NUL (\\u0000); remove it"),
        HostileText("raw NUL", "\na\0 = 1", "2: holds a NUL; remove it"),
        HostileText("size", String(repeating: "#", count: 1 << 20) + "#", " is larger than 1MiB"),
    ])
    func `hostile text is refused in one short line`(hostile: HostileText) throws {
        let answer = try #require(refusal(Array(hostile.text.utf8)))
        #expect(answer.hasPrefix("agent.toml:" + hostile.message), "\(answer.prefix(200))")
        #expect(answer.utf8.count < 1000 && !answer.contains("\n"))
    }

    @Test func `text that is not UTF-8 is refused with its line`() {
        #expect(refusal([0x0A, 0x23, 0xC3, 0x28, 0x0A]) == "agent.toml:2: is not UTF-8; save it as UTF-8")
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `a damaged file is read or refused in one line`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let original = Array(try Repository.text("agent.toml").utf8)
        let marks = Array("[]{}.,='\"\\#\n\r\t u0".utf8) + [0, 0xFF]
        for _ in 0..<60 {
            var text = original
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let place = Int.random(in: text.indices, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: text[place] = UInt8.random(in: .min ... .max, using: &random)
                case 1: text[place] = marks.randomElement(using: &random) ?? 0
                case 2: text.insert(marks.randomElement(using: &random) ?? 0, at: place)
                default: text.removeSubrange(place..<min(place + 20, text.count))
                }
            }
            if let answer = refusal(text) {
                #expect(answer.hasPrefix("agent.toml") && !answer.contains("\n"), "seed \(seed): \(answer)")
            }
        }
    }
}
