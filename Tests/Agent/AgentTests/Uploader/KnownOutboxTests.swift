import Ledger
import Testing
import UploadCore

@testable import Agent

@Suite("The known outbox")
struct KnownOutboxTests {
    private let one: [UInt8] = [1]
    private let two: [UInt8] = [2]

    /// The outbox known, the present one, whether they differ, and whether the present one is whole.
    private struct Row {
        var known: [UInt8]?
        var present: [UInt8]?
        var differs: Bool
        var isWhole: Bool
    }

    @Test("is recognised by its identity")
    func recognises() {
        let table = [
            Row(known: nil, present: nil, differs: false, isWhole: false),
            Row(known: nil, present: one, differs: false, isWhole: true),
            Row(known: one, present: nil, differs: true, isWhole: false),
            Row(known: one, present: one, differs: false, isWhole: true),
            Row(known: one, present: two, differs: true, isWhole: false),
        ]
        for row in table {
            let outbox = KnownOutbox(row.known)
            #expect(outbox.differs(from: row.present) == row.differs)
            #expect(outbox.isWhole(row.present, awaitsFiles: false) == row.isWhole)
            #expect(!outbox.isWhole(row.present, awaitsFiles: true))
        }
    }

    @Test("changes once no file of the former one is awaited, and is then stored")
    func adopts() {
        var outbox = KnownOutbox(one)
        #expect(outbox.adopt(two, path: "/b", awaitsFiles: true) == [])
        #expect(outbox.differs(from: two))
        #expect(outbox.adopt(two, path: "/b", awaitsFiles: false) == Self.writes(two, "/b"))
        #expect(!outbox.differs(from: two))
        #expect(outbox.adopt(two, path: "/b", awaitsFiles: false) == [], "stored already")
        #expect(outbox.adopt(nil, path: "/b", awaitsFiles: false) == [], "missing")
    }

    @Test("is the first one that a scan finds complete")
    func first() {
        var outbox = KnownOutbox()
        #expect(outbox.adopt(one, path: "/a", awaitsFiles: false) == Self.writes(one, "/a"))
    }

    private static func writes(_ identity: [UInt8], _ path: String) -> [LedgerWrite] {
        [.setting(LedgerSetting.outbox, identity), .setting(LedgerSetting.outboxPath, Array(path.utf8))]
    }

    @Test("is known by its new path once it was moved")
    func moves() {
        var outbox = KnownOutbox(one, path: "/a")
        #expect(outbox.adopt(one, path: "/b", awaitsFiles: false) == Self.writes(one, "/b"))
        #expect(outbox.path == "/b")
    }

    @Test("is named by a problem while its files are missing")
    func names() {
        let outbox = KnownOutbox(one, path: "/a")
        #expect(outbox.describeMissing(0, in: "/b") == nil)
        #expect(outbox.describeMissing(10, in: "/b")?.hasPrefix("10 files belong to the former outbox /a:") == true)
        #expect(outbox.describeMissing(1, in: "/a")?.hasPrefix("1 file belongs to another directory") == true)
    }
}
