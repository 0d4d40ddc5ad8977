import Foundation
import Reports
import Testing
import UploadCore

@testable import Console

@Suite("Sources on the console")
struct SourceConsoleTests {
    private func source(
        _ path: String, _ state: String, title: String? = nil, files: [(name: String, state: String)] = [],
        pending: [String] = [], url: String? = nil, error: String? = nil, progress: Double = 0
    ) throws -> SourceEntry {
        let files = files.map {
            ["path": path + "/" + $0.name, "name": $0.name, "state": $0.state, "progress": 0] as [String: Any]
        }
        var members: [String: Any] = [
            "id": "id of source \(path)", "path": path, "title": title ?? path, "state": state, "revision": 1,
            "progress": progress, "size": 3000, "files": files, "skipped": [String](), "pending_changes": pending,
            "accepted_at": "2026-11-21T09:30:00.123Z",
        ]
        members["url"] = url
        members["error"] = error.map {
            ["code": $0, "message": "because of \($0)", "retryable": false] as [String: Any]
        }
        return try JSONDecoder().decode(SourceEntry.self, from: JSONSerialization.data(withJSONObject: members))
    }

    // MARK: status

    @Test("The files of a source are indented below its line")
    func groups() throws {
        let sea = try source(
            "sea", "uploading", title: "A day", files: [("b.jpg", "done"), ("c.jpg", "uploading")], pending: ["d.jpg"],
            progress: 0.5)
        let files = [try entry("a.jpg", "done"), try entry("sea/b.jpg", "done"), try entry("sea/c.jpg", "uploading")]
        let lines = StatusTable(StatusSelection(files, sources: [sea], ended: nil).items, look: .plain).lines()
        #expect(
            lines == [
                "done        0%  1.0 kB  a.jpg",
                "uploading  50%  3.0 kB  sea/  1 of 2 files, 1 pending change, “A day”",
                "done        0%  1.0 kB    sea/b.jpg",
                "uploading   0%  1.0 kB    sea/c.jpg",
            ])
    }

    @Test("The URL of a post, or the reason of its failure, has a line of its own")
    func details() throws {
        let sea = try source("sea", "done", files: [("b.jpg", "done")], url: "https://example.org/p/7")
        let wood = try source("wood", "rejected", error: "too_many_files")
        let lines = StatusTable(StatusSelection([], sources: [sea, wood], ended: nil).items, look: .plain).lines()
        #expect(lines.contains { $0.hasSuffix("  https://example.org/p/7") })
        #expect(lines.contains { $0.hasSuffix("  too_many_files: because of too_many_files") })
    }

    @Test("The URL of a post is never cut, however narrow the terminal")
    func address() throws {
        let url = "https://example.org/p/" + String(repeating: "7", count: 40)
        let sea = try source("sea", "done", files: [("b.jpg", "done")], url: url)
        let items = StatusSelection([], sources: [sea], ended: nil).items
        #expect(StatusTable(items, look: .terminal(70)).lines()[1] == String(repeating: " ", count: 8) + url)
        #expect(StatusTable(items, look: .terminal(40)).lines()[1] == "    " + url)
    }

    @Test("A short list counts a source as one entry, and omits its done files")
    func selection() throws {
        let sea = try source("sea", "uploading", files: [("b.jpg", "done"), ("c.jpg", "queued")])
        let wood = try source("wood", "done", files: [("x.jpg", "done")])
        let files = [try entry("sea/b.jpg", "done"), try entry("sea/c.jpg", "queued"), try entry("wood/x.jpg", "done")]
        let selection = StatusSelection(files, sources: [sea, wood], ended: 0)
        #expect(selection.items == [.source(sea, files: [files[1]])])
        #expect(selection.leftOut == 1)
    }

    @Test("A file belongs to the source named in its entry, else to the source around the file")
    func membership() throws {
        let sea = try source("sea", "draft")
        let wood = try source("wood", "draft")
        var moved = try entry("Sent/sea/a.jpg", "done")
        moved.source = sea.id
        let groups = SourceGroups([sea, wood])
        #expect(groups.owner(of: moved) == sea.id)
        #expect(groups.owner(of: try entry("wood/deep/a.jpg", "done")) == wood.id)
        #expect(groups.owner(of: try entry("woods/a.jpg", "done")) == nil)
    }

    @Test("The summary counts sources before files")
    func summary() throws {
        let sources = [try source("sea", "uploading"), try source("wood", "draft")]
        let summary = FilesSummary([try entry("a", "queued")], sources: sources)
        #expect(summary.line(.plain) == "2 posts: 1 uploading, 1 draft; files: 1 queued")
        #expect(FilesSummary([], sources: [sources[1]]).line(.plain) == "1 post: 1 draft")
    }

    // MARK: status --watch

    @Test("A source is one bar, with its files in flight below if all fit")
    func bars() throws {
        let sea = try source("sea", "uploading", files: [("b.jpg", "uploading"), ("c.jpg", "queued")], progress: 0.5)
        let files = [
            try entry("a.jpg", "queued"), try entry("sea/b.jpg", "uploading", progress: 0.2),
            try entry("sea/c.jpg", "queued"),
        ]
        let tall = ProgressBoard(look: .terminal(80, 24)).lines(files, sources: [sea], last: "last")
        #expect(tall.count == 4)
        #expect(tall[0].hasPrefix("sea/ 0 of 2 files "))
        #expect(tall[1].hasPrefix("  sea/b.jpg "))
        #expect(tall[2].hasPrefix("a.jpg "))
        let low = ProgressBoard(look: .terminal(80, 4)).lines(files, sources: [sea], last: "last")
        #expect(low.count == 3)
        #expect(low[1].hasPrefix("a.jpg "))
    }

    @Test("The total counts the bytes of a source once, and its bar stands below the others")
    func total() throws {
        let sea = try source("sea", "uploading", files: [("b.jpg", "uploading")], progress: 0.5)
        let files = [
            try entry("a.jpg", "done", size: 1000, progress: 1),
            try entry("sea/b.jpg", "uploading", size: 3000, progress: 0.5),
        ]
        let board = ProgressBoard(look: .terminal(120))
        let total = board.total(files, sources: [sea])
        #expect(total.hasPrefix("1 of 2 through "), "\(total)")
        #expect(total.contains(" 62%  2.5 kB of 4.0 kB"), "\(total)")
        let bars = board.lines(files, sources: [sea], last: total).map { line in line.prefix { !"█░".contains($0) } }
        #expect(bars.count == 3)
        #expect(bars[0].count == bars[2].count, "\(bars)")
    }

    // MARK: submit and the like

    private func outcome(_ source: SourceEntry, refusal: String? = nil) -> ActionOutcome<SourceEntry> {
        ActionOutcome(source, refusal: refusal)
    }

    @Test("A submitted source is printed with the next step")
    func submitted() throws {
        var report = ActionReport(.submit)
        report.add(try outcome(source("A day", "queued", files: [("b.jpg", "queued")])))
        #expect(report.isFulfilled)
        #expect(report.lines(.plain) == ["submitted A day: 1 file, 3.0 kB"])
        #expect(report.prospects[0].contains("`outbox wait 'A day'`"))
    }

    @Test(
        "A refusal is a failure unless the source is already in the requested state",
        arguments: [
            ("uploading", [], true), ("done", [], true), ("done", ["new.jpg"], false), ("draft", [], false),
            ("rejected", [], false),
        ] as [(String, [String], Bool)])
    func refused(state: String, pending: [String], isFine: Bool) throws {
        var report = ActionReport(.submit)
        report.add(try outcome(source("sea", state, pending: pending), refusal: "no"))
        #expect(report.isFulfilled == isFine)
        #expect(report.complaints == (isFine ? [] : ["cannot submit sea: no"]))
        #expect(report.sources?.changed.isEmpty == true)
    }

    @Test("A source rejected on submit is a failure with the reason")
    func rejected() throws {
        var report = ActionReport(.submit)
        report.add(try outcome(source("sea", "rejected", error: "too_many_files")))
        #expect(report.complaints == ["cannot submit sea: because of too_many_files"])
    }

    @Test("An action on files and sources is fulfilled if fulfilled for both")
    func both() throws {
        var report = ActionReport(.pause)
        report.add(try outcome(source("sea", "paused")))
        #expect(report.isFulfilled)
        #expect(report.lines(.plain) == ["paused sea"])
        report.add(try outcome(source("wood", "done"), refusal: "the post is already done"))
        #expect(!report.isFulfilled)
        #expect(report.complaints == ["cannot pause wood: the post is already done"])
    }

    // MARK: wait

    @Test("A wait for a source lasts until its own final state")
    func wait() throws {
        let path = try #require(RelativePath("sea"))
        var course = WaitCourse(for: [.source(path)])
        let file = try entry("sea/b.jpg", "done")
        let busy: [any SubjectEntry] = [file, try source("sea", "verifying")]
        let first = course.look(at: busy, hasScanned: true, exists: { _ in true }, now: .zero)
        #expect(!first.isOver)
        let done: [any SubjectEntry] = [file, try source("sea", "done", url: "https://example.org/sea")]
        let last = course.look(at: done, hasScanned: true, exists: { _ in true }, now: .seconds(1))
        #expect(last.isOver)
        #expect(WaitReport(course, isOver: true).done == ["sea"])
        #expect(last.ended.map { $0.outcomeLine(.plain) } == ["done sea 3.0 kB https://example.org/sea"])
    }

    @Test("A wait for a named draft does not end")
    func draft() throws {
        let path = try #require(RelativePath("sea"))
        var course = WaitCourse(for: [.source(path)])
        let draft = [try source("sea", "draft")]
        let look = course.look(at: draft, hasScanned: true, exists: { _ in true }, now: .seconds(9))
        #expect(!look.isOver)
    }
}
