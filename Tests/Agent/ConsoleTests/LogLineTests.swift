import AgentConfiguration
import Foundation
import Testing
import UploadCore

@testable import Console

@Suite("Log lines")
struct LogLineTests {
    private func line(
        _ message: String, _ level: Configuration.LogLevel = .info, _ metadata: [(key: String, value: String)] = []
    ) -> LogLine {
        LogLine(time: WallTime(milliseconds: 1_795_253_400_123), level: level, message: message, metadata: metadata)
    }

    @Test("the text format has time, level, message and metadata")
    func text() {
        #expect(
            line("outbox is watching", .info, [("outbox", "/home/ann/Outbox"), ("why", "it was told so")])
                .text(hasColours: false)
                == #"2026-11-21T09:30:00Z info    outbox is watching outbox=/home/ann/Outbox why="it was told so""#)
    }

    @Test(
        "ambiguous values are quoted",
        arguments: [("", #""""#), ("a=b", #""a=b""#), (#"a"b"#, #""a\"b""#)])
    func quoting(value: String, shown: String) {
        #expect(line("m", .info, [("k", value)]).text(hasColours: false).hasSuffix(" k=" + shown))
    }

    @Test("control characters are escaped")
    func escaping() {
        let text = line("a\nb", .info, [("k", "\u{1B}[2J")]).text(hasColours: false)
        #expect(text.hasSuffix(#" a\nb k=\u{1B}[2J"#))
    }

    @Test("a message can't start a new line with a forged severity", arguments: ["\n", "\r\n"])
    func forgery(lineEnd: String) {
        let line = line("a\(lineEnd)<0>b", .info, [("k\(lineEnd)<0>", "v\(lineEnd)<0>")])
        for text in [line.text(hasColours: false), line.json()] {
            #expect(!text.utf8.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }, "\(text)")
        }
    }

    @Test("only the level is coloured")
    func colour() {
        #expect(line("m", .warning).text(hasColours: true) == "2026-11-21T09:30:00Z \u{1B}[33mwarning\u{1B}[0m m")
    }

    @Test("the JSON is one object with metadata among its members")
    func json() throws {
        let text = line("a\n\"b\"", .error, [("path", "é\u{1}"), ("level", "mine")]).json()
        #expect(!text.contains("\n"))
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String]
        #expect(
            object == [
                "time": "2026-11-21T09:30:00.123Z", "level": "error", "message": "a\n\"b\"", "path": "é\u{1}",
                "level_": "mine",
            ])
    }

    @Test("journal lines name the severity", arguments: zip(Configuration.LogLevel.allCases, [7, 7, 6, 5, 4, 3, 2]))
    func journal(level: Configuration.LogLevel, number: Int) {
        #expect(line("m", level).journalPrefix == "<\(number)>")
    }
}
