import AgentTestSupport
import Foundation
import Reports
import Testing
import UploadCore

@testable import Console

@Suite("Report of an action")
struct ActionReportTests {
    private func outcome(
        changed: [String] = [], unchanged: [(String, String, String)] = []
    ) throws -> [ActionOutcome<FileEntry>] {
        try changed.map { ActionOutcome(try entry($0, "paused")) }
            + unchanged.map { ActionOutcome(try entry($0.0, $0.1), refusal: $0.2) }
    }

    @Test("Files that changed are listed")
    func changed() throws {
        var report = ActionReport(.pause)
        report.add(try outcome(changed: ["a.jpg"]), isNamed: true)
        #expect(report.isFulfilled)
        #expect(report.lines(.plain) == ["paused a.jpg"])
        #expect(report.complaints == [])
    }

    @Test("A file already in the requested state is no failure")
    func already() throws {
        var report = ActionReport(.pause)
        report.add(try outcome(unchanged: [("a.jpg", "paused", "the file is already paused")]), isNamed: true)
        #expect(report.isFulfilled)
        #expect(report.lines(.plain) == ["unchanged a.jpg: the file is already paused"])
    }

    @Test("A named file that refuses the action is a failure")
    func failed() throws {
        var report = ActionReport(.pause)
        report.add(try outcome(unchanged: [("a.jpg", "done", "the file is already done")]), isNamed: true)
        #expect(!report.isFulfilled)
        #expect(report.complaints == ["cannot pause a.jpg: the file is already done"])
    }

    @Test("Members of a group that the action does not concern are no failure")
    func group() throws {
        var report = ActionReport(.pause)
        report.add(try outcome(unchanged: [("a.jpg", "done", "the file is already done")]), isNamed: false)
        #expect(report.isFulfilled)
        report.add(try outcome(unchanged: [("b.jpg", "queued", "the ledger is full")]), isNamed: false)
        #expect(!report.isFulfilled)
    }

    @Test("The report says if there was nothing to do")
    func nothing() {
        #expect(ActionReport(.retry).lines(.plain) == ["nothing to retry: no file has failed or is waiting"])
    }

    @Test("Many files are counted, not listed")
    func many() throws {
        var report = ActionReport(.cancel)
        report.add(try outcome(changed: (0..<500).map { "\($0).jpg" }), isNamed: false)
        #expect(report.lines(.plain) == ["500 files cancelled"])
        var bad = ActionReport(.cancel)
        bad.add(try outcome(unchanged: (0..<500).map { ("\($0).jpg", "done", "no") }), isNamed: true)
        #expect(bad.complaints.count == 21)
        #expect(bad.complaints.last == "and 480 more files")
    }

    @Test("Files that the agent only counted are counted, and what the agent does later is said")
    func counted() throws {
        var report = ActionReport(.retry)
        var answer = ActionAnswer(try outcome(changed: (0..<1000).map { "\($0).jpg" }))
        (answer.changed, answer.continues) = (100_000, true)
        report.add(answer)
        #expect(report.isFulfilled)
        let rest = "the agent continues with the other files by itself"
        #expect(report.lines(.plain) == ["100000 files tried again", rest])
    }

    @Test("The JSON lists changed, unchanged and failed files and posts")
    func json() throws {
        func text(_ value: some Encodable) throws -> String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        }
        let file = try entry("a.jpg", "paused")
        let none = #"{"changed":0,"failed":0,"unchanged":0}"#
        let one = none.replacing("unchanged\":0", with: "unchanged\":1")
        var report = ActionReport(.pause)
        #expect(try text(report) == #"{"changed":[],"counts":\#(none),"failed":[],"unchanged":[]}"#)
        report.add([ActionOutcome(file, refusal: "it is \"paused\"")], isNamed: true)
        let told = #"{"file":\#(try text(file)),"reason":"it is \"paused\""}"#
        #expect(try text(report) == #"{"changed":[],"counts":\#(one),"failed":[],"unchanged":[\#(told)]}"#)
        let post = try SourceEntry(SourceReport.sample("sea", .file(.done)))
        report.add(ActionOutcome(post, refusal: "it is done already"))
        let failed = #"{"reason":"it is done already","source":\#(try text(post))}"#
        let bad = none.replacing("failed\":0", with: "failed\":1")
        let posts = #"{"changed":[],"counts":\#(bad),"failed":[\#(failed)],"unchanged":[]}"#
        #expect(
            try text(report)
                == #"{"changed":[],"counts":\#(one),"failed":[],"sources":\#(posts),"unchanged":[\#(told)]}"#)
    }

    @Test("Names and reasons can't control a terminal")
    func escapes() throws {
        var report = ActionReport(.cancel)
        report.add(try outcome(unchanged: [("a\u{1B}[2J", "done", "b\nc")]), isNamed: true)
        #expect(report.complaints == ["cannot cancel a\\u{1B}[2J: b\\nc"])
    }

    @Test("The states that an action concerns", arguments: UserAction.allCases)
    func states(action: UserAction) {
        for state in FileState.allCases {
            // No state both concerns an action and already fulfils that action, except with `first`.
            #expect(!(action.concerns(state) && action.isFulfilled(by: state) && action != .first), "\(state)")
        }
        #expect(!action.concerns(.done))
        #expect(!action.isFulfilled(by: .rejected))
    }

    @Test("A displayed path with encoded bytes is parsed back")
    func shownPath() throws {
        let path = try #require(RelativePath([0x61, 0xFF, 0x25, 0x2F, 0x62]))
        #expect(RelativePath(shown: path.description) == path)
        #expect(RelativePath(shown: "a.jpg") == nil)
        #expect(RelativePath(shown: "100%25.jpg") == nil)
        #expect(RelativePath(shown: "a%F") == nil)
    }
}
