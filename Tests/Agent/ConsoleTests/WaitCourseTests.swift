import Foundation
import Reports
import Testing
import UploadCore

@testable import Console

@Suite("Waiting for files")
struct WaitCourseTests {
    private func path(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }

    private func look(
        _ course: inout WaitCourse, _ files: [FileEntry], at milliseconds: Int, scanned: Bool = true,
        exists: Bool = true
    ) -> WaitCourse.Look {
        course.look(at: files, hasScanned: scanned, exists: { _ in exists }, now: .milliseconds(milliseconds))
    }

    @Test("a file that ends during the wait counts at once")
    func ends() throws {
        var course = WaitCourse(for: [.file(try path("a"))])
        #expect(!look(&course, [try entry("a", "uploading")], at: 0).isOver)
        let last = look(&course, [try entry("a", "done"), try entry("b", "queued")], at: 100)
        #expect(last.isOver)
        #expect(last.ended.map(\.path) == ["a"])
        #expect(course.allDone)
    }

    @Test("an earlier outcome counts after a moment without change")
    func before() throws {
        var course = WaitCourse(for: [.file(try path("a"))])
        let first = look(&course, [try entry("a", "done")], at: 0)
        #expect(!first.isOver)
        #expect(first.ended.map(\.path) == ["a"], "it was asked for by name")
        #expect(!look(&course, [try entry("a", "done")], at: 299).isOver)
        #expect(look(&course, [try entry("a", "done")], at: 300).isOver)
    }

    @Test("a file overwritten just before is waited for again")
    func overwritten() throws {
        var course = WaitCourse(for: [.file(try path("a"))])
        #expect(!look(&course, [try entry("a", "done")], at: 0).isOver)
        #expect(look(&course, [try entry("a", "hashing")], at: 100).moved.map(\.state) == ["hashing"])
        #expect(!look(&course, [try entry("a", "hashing")], at: 400).isOver)
        #expect(look(&course, [try entry("a", "done")], at: 500).isOver)
    }

    @Test("an existing file that the agent does not know yet is waited for")
    func unseen() throws {
        var course = WaitCourse(for: [.file(try path("a"))])
        #expect(!look(&course, [], at: 0).isOver)
        #expect(!look(&course, [], at: 5000).isOver)
        #expect(course.unknown == [try path("a")])
        #expect(look(&course, [try entry("a", "done")], at: 5100).isOver)
    }

    @Test("the wait for a file that vanishes unseen ends, and the file is not done")
    func vanished() throws {
        var course = WaitCourse(for: [.file(try path("a"))])
        #expect(!look(&course, [], at: 0).isOver)
        #expect(!look(&course, [], at: 100, exists: false).isOver)
        #expect(look(&course, [], at: 400, exists: false).isOver)
        #expect(!course.allDone)
        #expect(WaitReport(course, isOver: true).failed == ["a"])
    }

    @Test("the report in JSON has the URL and the error of each file")
    func addresses() throws {
        var course = WaitCourse(for: [.file(try path("a")), .file(try path("b")), .file(try path("c"))])
        let entries = [
            try entry("a", "done", url: "https://example.org/a"), try entry("b", "failed", error: "unreadable"),
        ]
        _ = look(&course, entries, at: 0)
        let data = try JSONEncoder().encode(WaitReport(course, isOver: false))
        let object = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        let files = try #require(object?["files"] as? [[String: Any]])
        #expect(files.map { $0["path"] as? String } == ["a", "b", "c"])
        #expect(files.map { $0["state"] as? String } == ["done", "failed", nil])
        #expect(files.map { $0["url"] as? String } == ["https://example.org/a", nil, nil])
        #expect((files[1]["error"] as? [String: Any])?["code"] as? String == "unreadable")
        #expect(files.allSatisfy { $0.count == 4 }, "missing values are null")
    }

    @Test("a wait for everything ends after a full scan and a moment without change")
    func everything() throws {
        var course = WaitCourse(for: [.below(.root)])
        #expect(!look(&course, [], at: 0, scanned: false).isOver)
        #expect(!look(&course, [], at: 500, scanned: false).isOver)
        #expect(!look(&course, [], at: 600).isOver)
        #expect(!look(&course, [try entry("new", "settling")], at: 800).isOver)
        #expect(!look(&course, [try entry("new", "done")], at: 1000).isOver)
        #expect(look(&course, [try entry("new", "done")], at: 1300).isOver)
        #expect(course.allDone)
    }

    @Test("a wait for everything counts earlier outcomes, and does not print them")
    func old() throws {
        var course = WaitCourse(for: [.below(.root)])
        let files = [try entry("old", "rejected"), try entry("new", "uploading")]
        #expect(look(&course, files, at: 0).ended.isEmpty)
        #expect(course.shown.map(\.path) == ["new"])
        #expect(course.known.map(\.path) == ["new", "old"])
        #expect(!course.allDone)
    }

    @Test("a file rejected before the wait does not fail the wait, unless judged again")
    func oldRejections() throws {
        var course = WaitCourse(for: [.below(.root)], passesOverOldRejections: true)
        let old = try entry("old", "rejected", finishedAt: "2026-11-21T10:00:00.000Z")
        let failed = try entry("failed", "failed", finishedAt: "2026-11-21T10:00:00.000Z")
        #expect(!look(&course, [old, try entry("new", "done")], at: 0).isOver)
        #expect(look(&course, [old, try entry("new", "done")], at: 300).isOver)
        #expect(course.allDone && course.passedOver == 1)
        #expect(WaitReport(course, isOver: true).failed.isEmpty)

        _ = look(&course, [old, failed], at: 400)
        #expect(!course.allDone, "a failed file counts")
        _ = look(&course, [old, try entry("late", "rejected")], at: 500)
        #expect(!course.allDone, "a file that was rejected since counts")
        let again = try entry("old", "rejected", finishedAt: "2026-11-21T11:00:00.000Z")
        _ = look(&course, [again], at: 600)
        #expect(WaitReport(course, isOver: true).failed == ["old"])
    }

    @Test("a directory stands for all files below it")
    func below() throws {
        var course = WaitCourse(for: [.below(try path("trip"))])
        let files = [try entry("trip/a", "done"), try entry("tripod", "queued")]
        #expect(!look(&course, files, at: 0).isOver)
        #expect(look(&course, files, at: 300).isOver)
        #expect(course.known.map(\.path) == ["trip/a"])
    }

    @Test("a state is printed once")
    func once() throws {
        var course = WaitCourse(for: [.below(.root)])
        #expect(look(&course, [try entry("a", "uploading")], at: 0).moved.count == 1)
        #expect(look(&course, [try entry("a", "uploading", progress: 0.5)], at: 100).moved.isEmpty)
    }

    @Test("a file moved after its upload is done under either of its paths", arguments: ["a", "Sent/a"])
    func moved(name: String) throws {
        var course = WaitCourse(for: [.file(try path(name))])
        var file = try entry("Sent/a", "done")
        file.moved_from = "a"
        #expect(!look(&course, [file], at: 0, exists: name == "Sent/a").isOver)
        #expect(look(&course, [file], at: 300, exists: name == "Sent/a").isOver)
        #expect(course.allDone)
    }

    @Test("the report lists done files, failed files and files under way")
    func report() throws {
        var course = WaitCourse(for: [.below(.root), .file(try path("unseen"))])
        _ = look(
            &course, [try entry("a", "done"), try entry("b", "cancelled"), try entry("c", "signed_out")], at: 0)
        let report = WaitReport(course, isOver: false)
        #expect(report.done == ["a"])
        #expect(report.failed == ["b"])
        #expect(report.pending == ["c", "unseen"])
    }
}
