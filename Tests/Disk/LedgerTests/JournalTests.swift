import Foundation
import TestSupport
import Testing

@testable import Ledger
@testable import UploadCore

@Suite("Journal")
struct JournalTests {
    private let place: TemporaryDirectory
    private let ledger: Ledger

    init() throws {
        place = try TemporaryDirectory()
        ledger = try openLedger(place.path("state"))
    }

    private func row(
        _ text: String, _ outcome: JournalRow.Outcome = .done, at time: Int64 = 1, key: UInt64? = nil
    ) throws -> JournalRow {
        var row = JournalRow(
            time: WallTime(milliseconds: time), subject: .file, outcome: outcome, path: try path(text))
        row.key = key.map { ContentKey(high: $0, low: 7) }
        row.size = 1234
        return row
    }

    private func commit(_ rows: JournalRow...) async {
        await ledger.commit(rows.map { .outcome(JournalEntry(number: 0, row: $0)) })
    }

    @Test("finds the files that ended last in a state, however rare it is")
    func latestDrops() async throws {
        func end(_ name: String, _ state: FileState, _ time: Int64) async throws {
            var record = DropRecord(path: try path(name), state: state, acceptedAt: WallTime(milliseconds: 0))
            record.finishedAt = WallTime(milliseconds: time)
            let row = try #require(JournalRow(record, isPortrait: false))
            await ledger.commit([.drop(record), .outcome(JournalEntry(number: UInt64(time), row: row))])
        }
        try await end("failed once", .failed, 1)
        try await end("failed", .failed, 2)
        try await end("moved", .failed, 3)
        for number in 4...1500 { try await end("\(number)", .done, Int64(number)) }
        try await end("failed once", .done, 1501)
        var moved = try #require(try ledger.drop(at: try path("moved")))
        moved.path = try path("new name")
        await ledger.commit([
            .forgetDrop(try path("moved")), .drop(moved), .place(try path("moved"), now: moved.path),
        ])
        func found(_ state: FileState, _ count: Int, besides name: String? = nil) throws -> [String] {
            let left = try name.map { Set([try path($0)]) } ?? []
            return try ledger.latestDrops(in: state, atMost: count, besides: left).map { "\($0.path)" }
        }
        #expect(try found(.failed, 5) == ["new name", "failed"])
        #expect(try found(.failed, 1) == ["new name"])
        #expect(try found(.failed, 5, besides: "new name") == ["failed"])
        #expect(try found(.done, 3) == ["failed once", "1500", "1499"])
        #expect(try found(.done, 1400).count == 1400)
        #expect(try found(.cancelled, 5) == [])
    }

    @Test("keeps the numbers that rows bring, and passes over those that are taken")
    func given() async throws {
        for (number, name) in [(7, "a"), (9, "b"), (9, "c"), (0, "d")] as [(UInt64, String)] {
            await ledger.commit([.outcome(JournalEntry(number: number, row: try row(name)))])
        }
        #expect(try ledger.journal(after: 0, atMost: 9).map(\.number) == [7, 9, 10, 11])
    }

    private func numbers(_ query: JournalQuery) throws -> [UInt64] { try ledger.journal(query).map(\.number) }

    private func find(_ names: String...) throws -> [UInt64] { try numbers(JournalQuery(names: names)) }

    @Test("keeps rows in the order of their commits, with all that they say")
    func rows() async throws {
        var first = try row("trip/beach ü.jpg", key: 1)
        first.type = "image/jpeg"
        first.sent = JournalRow.Sent(key: ContentKey(high: 9, low: 9), size: 99, type: "image/jpeg")
        first.remote = RemoteObject(
            id: "0123456789abcdef0123456789abcdef",
            url: "http://127.0.0.1:8787/f/00112233445566778899aabbccddeeff/beach ü.jpg")
        first.sha256 = StrongDigest([UInt8](0..<32))
        var second = try row("b.mp4", .failed)
        second.error = FileError(code: "unreadable", message: "the disk", retryable: false)
        second.remote = RemoteObject(id: "id-7", url: nil)
        var post = JournalRow(
            time: WallTime(milliseconds: 3), subject: .post, outcome: .done, path: try path("trip"))
        post.revision = 3
        let idle = JournalRow(time: WallTime(milliseconds: 4), subject: .agent, outcome: .idle, path: .root)
        await commit(first, second, post)
        await commit(idle)
        let entries = try ledger.journal(after: 0, atMost: 10)
        #expect(entries.map(\.row) == [first, second, post, idle])
        #expect(entries.map(\.number) == [1, 2, 3, 4])
        #expect(try ledger.journal(after: 2, atMost: 1).map(\.row) == [post])
        #expect(try ledger.journalEnd() == 4)
        // Rows about the agent itself are of interest only to who asks for them.
        #expect(try numbers(JournalQuery()) == [3, 2, 1])
        #expect(try numbers(JournalQuery(outcomes: [.idle])) == [4])
    }

    @Test(
        "finds names and ends of paths in either case, with globs",
        arguments: [
            ("DSC_0042.JPG", [3, 1]), ("dsc_0042.jpg", [3, 1]), ("card/DSC_0042.JPG", [1]), ("DSC_0042", []),
            ("DSC_*.jpg", [3, 2, 1]), ("DSC_004[13].jpg", [2]), ("*.mp4", [5, 4]), ("c*/dsc_004?.jpg", [2, 1]),
            ("a very long name of a film, longer than the index.mp4", [4]),
            ("a very long name of a film, longer than anything.mp4", [5]), ("a very long name of a*", [5, 4]),
            ("/DSC_0042.JPG", [3, 1]), ("nothing", []), ("0000000000000004000000000000000x", []),
            ("00000000000000040000000000000007", [4]),
        ])
    func names(_ name: String, _ expected: [UInt64]) async throws {
        await commit(
            try row("card/DSC_0042.JPG"), try row("card/dsc_0043.jpg"), try row("other/DSC_0042.jpg"),
            try row("a very long name of a film, longer than the index.mp4", key: 4),
            try row("a very long name of a film, longer than anything.mp4"))
        #expect(try find(name) == expected)
    }

    @Test("finds a file that has another path now under both names, and only its last outcome moves")
    func moves() async throws {
        await commit(try row("a.jpg", .failed), try row("a.jpg"), try row("b.jpg"))
        await ledger.commit([.place(try path("a.jpg"), now: try path("Sent/c.jpg"))])
        #expect(try find("a.jpg") == [2, 1])
        #expect(try find("c.jpg") == [2])
        #expect(try ledger.journal(after: 1, atMost: 1).first?.place == path("Sent/c.jpg"))
        await ledger.commit([.place(try path("Sent/c.jpg"), now: try path("d.jpg"))])
        #expect(try find("c.jpg") == [])
        #expect(try find("d.jpg") == [2])
        #expect(try ledger.journal(JournalQuery(names: ["d.jpg"])).map(\.place) == [path("d.jpg")])
        await ledger.commit([.place(try path("unknown"), now: try path("e"))])
        #expect(try find("e") == [])
    }

    @Test("limits a search by time, state, number and count, the latest first")
    func limits() async throws {
        for time in 1...9 { await commit(try row("a.jpg", time % 3 == 0 ? .failed : .done, at: Int64(time))) }
        #expect(try numbers(JournalQuery(limit: 2)) == [9, 8])
        #expect(try numbers(JournalQuery(before: 8, limit: 2)) == [7, 6])
        #expect(try numbers(JournalQuery(names: ["a.jpg"], before: 3)) == [2, 1])
        #expect(try numbers(JournalQuery(names: ["a.jpg"], outcomes: [.failed], limit: 2)) == [9, 6])
        let (since, until) = (WallTime(milliseconds: 3), WallTime(milliseconds: 5))
        #expect(try numbers(JournalQuery(since: since, until: until)) == [4, 3])
    }

    @Test("numbers rows on after all were trimmed, and forgets trimmed names")
    func trimming() async throws {
        for number in 1...600 { await commit(try row("\(number).jpg")) }
        await ledger.commit([.place(try path("1.jpg"), now: try path("moved.jpg"))])
        await ledger.commit([.trimJournal(before: 601)])
        #expect(try find("1.jpg") == [])
        #expect(try find("moved.jpg") == [])
        #expect(try ledger.journal(after: 0, atMost: 1).first?.number == UInt64(JournalTable.mostTrimmed) + 1)
        await ledger.commit([.trimJournal(before: 601)])
        #expect(try ledger.journal(after: 0, atMost: 1) == [])
        #expect(try ledger.journalEnd() == 600)
        await commit(try row("next.jpg"))
        #expect(try ledger.journal(after: 0, atMost: 9).map(\.number) == [601])
    }

    @Test("names itself by an id that a reopened ledger keeps")
    func id() async throws {
        let id = try ledger.journalID()
        #expect(id.count == 16)
        await commit(try row("a.jpg"))
        ledger.close()
        let again = try openLedger(place.path("state"))
        #expect(try again.journalID() == id)
        #expect(try again.journal(after: 0, atMost: 9).count == 1)
        let other = try openLedger(place.path("other"))
        #expect(try other.journalID() != id)
    }

    @Test("survives the rebuilding of a damaged ledger with its numbers and names")
    func salvage() async throws {
        await commit(try row("a.jpg"), try row("b.jpg"))
        await ledger.commit([.place(try path("b.jpg"), now: try path("c.jpg"))])
        let id = try ledger.journalID()
        ledger.close()
        #expect(try LedgerFile(directory: place.path("state")).inspect() == .sound)
        try FileManager.default.createDirectory(atPath: place.path("new"), withIntermediateDirectories: true)
        _ = try LedgerSalvage.make(
            at: place.path("new/ledger.lmdb"), from: LedgerFile(directory: place.path("state")))
        let rebuilt = try openLedger(place.path("new"))
        #expect(try rebuilt.journalID() == id)
        #expect(try rebuilt.journal(JournalQuery(names: ["b.jpg"])).map(\.number) == [2])
        #expect(try rebuilt.journal(JournalQuery(names: ["c.jpg"])).map(\.number) == [2])
        #expect(try rebuilt.journal(JournalQuery(names: ["a.jpg"])).map(\.number) == [1])
    }

    @Test("takes less than 200 bytes for a row")
    func size() async throws {
        var rows: [LedgerWrite] = []
        for number in 0..<20_000 {
            var row = try row("2026/11/holiday in Brittany/DSC_\(10_000 + number).JPG", key: UInt64(number))
            row.type = "image/jpeg"
            let (id, token) = (
                "\(ContentKey(high: 3, low: UInt64(number)))", "\(ContentKey(high: 4, low: UInt64(number)))"
            )
            row.remote = RemoteObject(
                id: id, url: "https://photos.example.org/f/\(token)/DSC_\(10_000 + number).JPG")
            rows.append(.outcome(JournalEntry(number: UInt64(number) + 1, row: row)))
            if rows.count == 500 {
                await ledger.commit(rows)
                rows = []
            }
        }
        let figures = try ledger.statistics()
        let size = figures.fileSize - figures.freeSize
        #expect(size < 20_000 * 200, "\(size / 20_000) bytes a row")
    }

    @Test("answers as a walk over all rows, at each step of a random history", arguments: [1, 2, 3, 4] as [UInt64])
    func history(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        var rows: [JournalEntry] = []
        let names = ["a.jpg", "A.jpg", "ab.jpg", "d/a.jpg", "d/e/b.mp4", "b.mp4"]
        for step in 0..<60 {
            let name = names[Int.random(in: 0..<names.count, using: &random)]
            if Int.random(in: 0..<4, using: &random) == 0 {
                let target = try path("x/\(step).jpg")
                await ledger.commit([.place(try path(name), now: target)])
                let index = rows.lastIndex { ($0.place ?? $0.row.path).description == name }
                if let index { rows[index].place = target }
            } else {
                let row = try row(name, Bool.random(using: &random) ? .done : .failed, at: Int64(step))
                await commit(row)
                rows.append(JournalEntry(number: UInt64(rows.count + 1), row: row))
            }
            let word = ["a.jpg", "a*", "*.mp4", "d/a.jpg", "x/*", "[ab].*"][Int.random(in: 0..<6, using: &random)]
            let wanted = try #require(JournalName(word))
            let expected = rows.filter(wanted.matches).map(\.number).reversed()
            #expect(try find(word) == Array(expected), "seed \(seed), step \(step), \(word)")
        }
    }
}
