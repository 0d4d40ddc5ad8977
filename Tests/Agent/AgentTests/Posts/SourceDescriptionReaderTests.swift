import Foundation
import Intake
import TestSupport
import Testing
import UploadCore

@testable import Agent

@Suite("Reader of source.toml")
struct SourceDescriptionReaderTests {
    @Test("reads title, cover and draft")
    func all() throws {
        let text = """
            # a post
            title = "  A day at the sea "
            cover = "day 2/beach.jpg"
            draft = true
            """
        let cover = try #require(RelativePath("day 2/beach.jpg"))
        #expect(try parse(text).get() == SourceDescription(title: "A day at the sea", cover: cover, isDraft: true))
    }

    @Test(
        "accepts a file without title, cover and draft",
        arguments: ["", "\n", "# nothing", "title = \"\"", "title = \" \\t \"", "\u{FEFF}", "draft = false"])
    func nothing(text: String) throws {
        #expect(try parse(text).get() == SourceDescription())
    }

    @Test("accepts the output of Windows editors: a byte order mark and lines that end in CR LF")
    func windows() throws {
        let text = "\u{FEFF}title = \"Meer\"\r\n\r\n# und\r\ndraft = true\r\n"
        #expect(try parse(text).get() == SourceDescription(title: "Meer", isDraft: true))
        #expect(try mistake("\u{FEFF}title = \"Meer\"\r\ndraft = 1\r\n").hasPrefix("source.toml, line 2: `draft`"))
    }

    @Test("accepts titles in every script up to 1000 bytes")
    func titles() throws {
        let title = String(repeating: "海", count: 333) + "!"
        #expect(try parse("title = '\(title)'").get().title == title)
        #expect(try parse("title = \"\"\"\nA day\n\"\"\"").get().title == "A day")
    }

    @Test(
        "names the line, the mistake and the remedy",
        arguments: [
            ("\n\ndrft = true", "line 3: `drft` is not a key; did you mean `draft`?"),
            (
                "\ncolour = 1",
                "line 2: `colour` is not a key; use only `title`, `cover` and `draft`"
            ),
            ("[upload]\nx = 1", "line 1: `upload` is not a key; "),
            ("title.en = \"x\"", "line 1: `title` must be a string, is a table; write title = "),
            ("title = 1", "line 1: `title` must be a string, is an integer; write title = \"A day at the sea\""),
            ("title = \"a\\u001bb\"", "line 1: `title` holds a control character or a line break; "),
            ("title = \"a\\nb\"", "line 1: `title` holds a control character or a line break; "),
            ("cover = 5", "line 1: `cover` must be a string, is an integer; write cover = \"beach.jpg\""),
            ("cover = \"\"", "line 1: `cover` is empty; name a file, or remove the line to have the first picture"),
            ("cover = \"/etc/passwd\"", "line 1: `cover` must be the path of a file below the directory"),
            ("cover = \"../beach.jpg\"", "line 1: `cover` must be the path of a file below the directory"),
            ("cover = \"./beach.jpg\"", "line 1: `cover` must be the path of a file below the directory"),
            ("cover = \"a//b.jpg\"", "line 1: `cover` must be the path of a file below the directory"),
            ("draft = \"true\"", "line 1: `draft` must be true or false, without quotes, is a string"),
            ("draft = yes", "line 1: is not TOML: "),
            ("draft = true\ndraft = false", "line 2: is not TOML: "),
            ("\ntitle = \"open", "line 2: is not TOML: "),
            ("\ncover = \"a\\u0000b\"", "line 2: holds a NUL (\\u0000); remove it; correct it and save the file again"),
        ] as [(String, String)])
    func mistakes(text: String, message: String) throws {
        let answer = try mistake(text)
        #expect(answer.hasPrefix("source.toml, \(message)"), "\(answer)")
        #expect(!answer.contains("\n"))
    }

    @Test("names the first mistake of several")
    func first() throws {
        #expect(try mistake("zzz = 1\ndraft = 2\ncover = 3").hasPrefix("source.toml, line 1: `zzz`"))
    }

    @Test("refuses a title of more than 1000 bytes, and names its length")
    func longTitle() throws {
        let text = "title = '\(String(repeating: "x", count: 1001))'"
        #expect(try mistake(text) == "source.toml, line 1: `title` is 1001 bytes long; shorten it to 1000")
    }

    @Test("refuses other encodings, and names the line")
    func encoding() throws {
        let answer = try mistake(bytes: Array("draft = true\ntitle = \"caf".utf8) + [0xE9] + Array("\"\n".utf8))
        #expect(answer.hasPrefix("source.toml, line 2: is not UTF-8; save it as UTF-8"))
    }

    @Test("accepts 64 KiB and refuses more")
    func size() throws {
        let most = [UInt8](repeating: UInt8(ascii: "#"), count: 64 << 10)
        #expect(try SourceDescriptionReader.parse(most).get() == SourceDescription())
        #expect(try mistake(bytes: most + most.prefix(1)).hasPrefix("source.toml: is larger than 64KiB; "))
    }

    @Test("reads or refuses any bytes in one short line", arguments: 1...8 as ClosedRange<UInt64>)
    func fuzz(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let original = Array(
            "\u{FEFF}title = \"A day\"\r\n# x\ncover = 'a/b.jpg'\ndraft = true\n[a.b]\nc = [{d=1}]\n".utf8)
        let marks = Array("[]{}.,='\"\\#\n\r\t u0-:".utf8) + [0, 0xFF, 0xEF]
        for _ in 0..<400 {
            var text = original
            for _ in 0..<Int.random(in: 1...6, using: &random) where !text.isEmpty {
                let place = Int.random(in: text.indices, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: text[place] = UInt8.random(in: .min ... .max, using: &random)
                case 1: text[place] = marks.randomElement(using: &random) ?? 0
                case 2: text.insert(marks.randomElement(using: &random) ?? 0, at: place)
                default: text.removeSubrange(place..<min(place + 20, text.count))
                }
            }
            guard case .failure(let error) = SourceDescriptionReader.parse(text) else { continue }
            #expect(error.code == "malformed_source" && !error.retryable)
            let isShort = error.message.utf8.count < 1000 && !error.message.contains("\n")
            #expect(error.message.hasPrefix("source.toml") && isShort, "seed \(seed): \(error.message)")
        }
    }

    private func parse(_ text: String) -> Result<SourceDescription, FileError> {
        SourceDescriptionReader.parse(Array(text.utf8))
    }

    private func mistake(_ text: String) throws -> String { try mistake(bytes: Array(text.utf8)) }

    private func mistake(bytes: [UInt8]) throws -> String {
        guard case .failure(let error) = SourceDescriptionReader.parse(bytes) else { return "" }
        #expect(error.code == "malformed_source")
        return error.message
    }
}

@Suite("Reader of source.toml, on disk")
struct SourceDescriptionFileTests {
    private let place: TemporaryDirectory
    private let reader: SourceDescriptionReader
    private let directory: RelativePath
    private var file: String { place.path("trip/source.toml") }

    init() throws {
        place = try TemporaryDirectory()
        reader = SourceDescriptionReader(files: OutboxFiles(root: place.path))
        directory = try #require(RelativePath("trip"))
        try FileManager.default.createDirectory(atPath: place.path("trip"), withIntermediateDirectories: false)
    }

    @Test("reads the file of the directory")
    func reads() throws {
        try Data("title = \"Sea\"".utf8).write(to: URL(fileURLWithPath: file))
        #expect(try reader.read(directory).get().title == "Sea")
    }

    @Test("reports a missing file as missing, not as malformed")
    func missing() {
        #expect(reader.read(directory).code == "file_missing")
        #expect(reader.read(RelativePath("gone") ?? .root).code == "file_missing")
    }

    @Test("never waits for a writer of a FIFO, and follows no link")
    func odd() throws {
        #expect(mkfifo(file, 0o600) == 0)
        #expect(reader.read(directory).code == "malformed_source")
        try FileManager.default.removeItem(atPath: file)
        try Data().write(to: URL(fileURLWithPath: place.path("elsewhere")))
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "../elsewhere")
        #expect(reader.read(directory).code == "malformed_source")
    }

    @Test("reads no more than necessary of a file that is too large")
    func large() throws {
        #expect(FileManager.default.createFile(atPath: file, contents: nil))
        try #require(truncate(file, 1 << 40) == 0)
        #expect(reader.read(directory).code == "malformed_source")
    }

    @Test("reports missing permission to read the file", .enabled(if: geteuid() != 0))
    func forbidden() throws {
        try Data().write(to: URL(fileURLWithPath: file))
        chmod(file, 0)
        #expect(reader.read(directory).code == "unreadable")
    }
}

extension Result<SourceDescription, FileError> {
    fileprivate var code: String? {
        guard case .failure(let error) = self else { return nil }
        return error.code
    }
}
