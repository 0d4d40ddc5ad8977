import Foundation
import TestSupport
import Testing

@testable import OutboxReceiver

@Suite struct LogTests {
    @Test func theLogSaysWhoDidWhatWithoutTokens() async throws {
        let log = RecordedLog()
        var ids: [String] = []
        try await TestServer.run(
            configure: { $0.tokens = "alice-secret alice" }, logger: log.logger
        ) { server in
            let content = TestServer.content(10)
            let id = try server.upload(content, name: "a\nb\".jpg", token: "alice-secret").id
            let path = try server.commit([id], title: "one\r\nline", token: "alice-secret")
            _ = try server.get(path)
            _ = try server.post("/fileSection/delete.do", ["fileIds": [id, "x\ny"]], token: "alice-secret")
            _ = try server.post(
                "/source/commit.do", ["sourceId": "s2", "revision": 1, "fileIds": [id]], token: "alice-secret")
            ids = [id, TestServer.md5(content), String(path.dropFirst(3))]
        }
        let (id, md5, secret) = (ids[0], ids[1], ids[2])
        let lines = log.lines
        let name = #""a\u{a}b\".jpg""#
        for line in [
            "info preLoad existing=0 files=[\(id) new md5=\(md5) bytes=10 name=\(name)] new=1 user=alice",
            "debug upload block=1/1 id=\(id) outcome=stored user=alice",
            "info upload finished bytes=10 id=\(id) md5=\(md5) name=\(name) user=alice",
            "info commit cover=\(id) ids=[\(id)] outcome=created revision=1 shown=1 source=\"s1\" "
                + #"title="one\u{d}\u{a}line" user=alice"#,
            #"info delete deleted=1 ids=[\#(id), "x\u{a}y"] user=alice"#,
        ] {
            #expect(lines.contains(line), "\(lines.joined(separator: "\n"))")
        }
        #expect(lines.contains { $0.hasPrefix("info refused") && $0.contains("status=404 user=alice") })
        #expect(!lines.contains { $0.contains("secret") || $0.contains(secret) || $0.contains("\n") })
    }

    @Test func longNamesMakeNoLongLines() async throws {
        let log = RecordedLog()
        try await TestServer.run(logger: log.logger) { server in
            let files = (0..<50).map { number in
                [
                    "fileName": "a.jpg", "totalSize": 1, "md5": TestServer.md5(Data([UInt8(number)])),
                    "path": String(repeating: "\u{202e}", count: 1000) + "\(number)",
                ] as [String: Any]
            }
            _ = try server.post("/fileSection/preLoad.do", ["files": files])
        }
        let line = try #require(log.lines.first { $0.hasPrefix("info preLoad") })
        #expect(line.utf8.count < 10_000)
        #expect(line.contains(" more]"))
    }

    @Test(arguments: [
        ("plain ä 海", "\"plain ä 海\""), ("a\"b\\c", #""a\"b\\c""#),
        ("\u{202e}\u{2028}\u{1b}[31m", #""\u{202e}\u{2028}\u{1b}[31m""#),
    ])
    func whatCouldDeceiveAReaderIsEscaped(text: String, quoted: String) {
        #expect(LogText.quoted(text) == quoted)
        #expect(LogText.quoted(String(repeating: text, count: 300)).unicodeScalars.count < 3000)
    }

    @Test(arguments: [
        ("Missing expected argument '--root <root>'", "missing expected argument '--root <root>'; see"),
        ("Unknown option '--rot'. Did you mean '--root'?", "unknown option '--rot'. Did you mean '--root'? See"),
        ("Can't do it.\n\nUse one of:\n    zsh bash.", "can't do it. Use one of: zsh bash; see"),
        ("--listen must be HOST:PORT, not \u{1b}[2J", "--listen must be HOST:PORT, not \\u{1b}[2J; see"),
    ])
    func wrongUsageIsOneLine(message: String, line: String) {
        #expect(UsageLine.text(message) == line + " `outbox-receiver --help`")
    }
}
