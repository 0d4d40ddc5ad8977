import Text
import Reports
import Testing

@testable import Console

@Suite("Output of outbox status")
struct StatusTests {
    @Test("lines are aligned, and empty columns take no space")
    func aligned() throws {
        let files = [
            try entry("a.jpg", "uploading", size: 4_834_205, progress: 0.3, speed: 1_200_000, eta: 125),
            try entry("trip/b.jpg", "waiting", error: "dns"), try entry("c.jpg", "done", progress: 1),
        ]
        #expect(
            StatusTable(files.map { .file($0) }, look: .plain).lines() == [
                "uploading   30%  4.8 MB  1.2 MB/s  2 min 5 s  a.jpg",
                "waiting      0%  1.0 kB                       trip/b.jpg  dns",
                "                                                because of dns",
                "done       100%  1.0 kB                       c.jpg",
            ])
        #expect(StatusTable([.file(files[2])], look: .plain).lines() == ["done  100%  1.0 kB  c.jpg"])
    }

    @Test("a file that the user named shows its URL and its error")
    func named() throws {
        let done = try entry("a.jpg", "done", progress: 1, url: "https://example.org/a")
        let gone = try entry("b.jpg", "cancelled", error: "file_missing")
        #expect(
            StatusTable([.file(done), .file(gone)], look: .plain, isDetailed: true).lines() == [
                "done       100%  1.0 kB  a.jpg", "                           https://example.org/a",
                "cancelled    0%  1.0 kB  b.jpg  file_missing", "                           because of file_missing",
            ])
        #expect(StatusTable([.file(done)], look: .plain).lines() == ["done  100%  1.0 kB  a.jpg"])
        #expect(done.outcomeLine(.plain) == "done a.jpg 1.0 kB https://example.org/a")
    }

    @Test("a file being hashed shows its progress, and never 100 %")
    func hashed() throws {
        func file(_ bytes: UInt64) throws -> FileEntry {
            var file = try entry("a", "hashing", size: 1000)
            file.hashed = bytes
            return file
        }
        #expect(try StatusTable([.file(file(420))], look: .plain).lines().first?.hasPrefix("hashing  42%") == true)
        #expect(try StatusTable([.file(file(1000))], look: .plain).lines().first?.hasPrefix("hashing  99%") == true)
        #expect(ProgressBoard(look: .terminal(80)).lines([try file(420)], last: "")[0].contains("42%"))
    }

    @Test("bytes of unfinished fragments count for display, and never make 100 %")
    func bytesInFlight() throws {
        func line(_ inFlight: Int) throws -> String {
            let file = try entry("a", "uploading", size: 1000, progress: 0.5, speed: 60_000, eta: 8, inFlight: inFlight)
            return try #require(StatusTable([.file(file)], look: .plain).lines().first)
        }
        #expect(try line(0) == "uploading  50%  1.0 kB  60.0 kB/s  8 s  a")
        #expect(try line(120) == "uploading  62%  1.0 kB  60.0 kB/s  8 s  a")
        #expect(try line(500) == "uploading  99%  1.0 kB  60.0 kB/s  8 s  a")
        let files = [try entry("a", "uploading", size: 1000, progress: 0.5, speed: 10, eta: 8, inFlight: 120)]
        #expect(FilesSummary(files).secondsLeft == 38)
        #expect(ProgressBoard(look: .terminal(80)).lines(files, last: "")[0].contains("62%"))
    }

    @Test(
        "a waiting file shows the time of its next attempt",
        arguments: [
            ("2026-11-21T09:30:48.000Z", "retry in 48 s"), ("2026-11-21T09:32:00.500Z", "retry in 2 min 1 s"),
            ("2026-11-21T09:30:00.000Z", "retry now"), ("2026-11-21T09:00:00.000Z", "retry now"),
        ])
    func nextAttempt(due: String, text: String) throws {
        // date -u -d 2026-11-21T09:30:00Z +%s
        let now: Int64 = 1_795_253_400_000
        let file = try entry("a.jpg", "waiting", error: "dns", nextAttemptAt: due)
        #expect(
            StatusTable([.file(file)], look: .plain, now: now).lines()[0] == "waiting  0%  1.0 kB  \(text)  a.jpg  dns")
        let paused = try entry("a.jpg", "paused", nextAttemptAt: due)
        #expect(StatusTable([.file(paused)], look: .plain, now: now).lines() == ["paused  0%  1.0 kB  a.jpg"])
    }

    @Test("paths are cut to fit on a terminal, and nowhere else")
    func fits() throws {
        let name = String(repeating: "long/", count: 40) + "picture.jpg"
        let files = [try entry(name, "failed", error: "refused")]
        let line = StatusTable(files.map { .file($0) }, look: .terminal(60)).lines()[0]
        #expect(DisplayText.width(line) == 60)
        #expect(line.hasSuffix("picture.jpg  refused"))
        #expect(StatusTable(files.map { .file($0) }, look: .plain).lines()[0].contains(name))
    }

    @Test(
        "a failed, waiting or rejected file has the reason in words on the next line",
        arguments: ["failed", "rejected", "waiting", "signed_out"])
    func reason(state: String) throws {
        let lines = StatusTable([.file(try entry("a.jpg", state, error: "refused"))], look: .plain).lines()
        #expect(lines.count == 2)
        #expect(lines[0].hasSuffix("a.jpg  refused"))
        #expect(lines[1].trimmingPrefix { $0 == " " } == "because of refused")
    }

    @Test("a reason too long for a line is broken at blanks, and not cut")
    func longReason() throws {
        var file = try entry("a.jpg", "failed", error: "refused")
        let reason = "the server answered with a page that says that nothing can be had here today, nor tomorrow"
        file.error?.message = reason
        for columns in [30, 60, 80] {
            let lines = StatusTable([.file(file)], look: .terminal(columns)).lines().dropFirst()
            #expect(lines.allSatisfy { DisplayText.width($0) <= columns })
            #expect(lines.map { String($0.trimmingPrefix { $0 == " " }) }.joined(separator: " ") == reason)
        }
        #expect(StatusTable([.file(file)], look: .plain).lines().count == 2)
    }

    @Test("files that need attention come first, and are never left out of the short list")
    func attention() throws {
        let done = try (0..<30).map { try entry("b\($0)", "done", finishedAt: "2026-11-21T12:00:00.000Z") }
        let files =
            [try entry("a", "uploading")] + done + [
                try entry("w", "rejected", finishedAt: "2026-11-20T09:00:00.000Z"), try entry("x", "waiting"),
                try entry("y", "failed", finishedAt: "2026-11-20T09:00:00.000Z"),
            ]
        let short = StatusSelection(files, sources: [], ended: 10)
        let first = [files[33], files[32], files[31], files[0]].map(StatusSelection.Item.file)
        #expect(Array(short.items.prefix(4)) == first)
        #expect(short.items.count == 14)
        #expect(short.leftOut == 20)
        #expect(StatusSelection(files, sources: [], ended: nil).items.first == .file(files[33]))
        let counts = ["done": 1000, "uploading": 3, "rejected": 1, "waiting": 1, "failed": 1]
        let cut = StatusSelection(files, sources: [], ended: 10, counts: counts)
        #expect(cut.items.count == 14)
        #expect(cut.leftOut == 990)
        #expect(cut.activeLeftOut == 2)
        #expect(StatusSelection(files, sources: [], ended: nil, counts: counts).leftOut == 970)
    }

    @Test("a name can't send control characters to the terminal")
    func hostile() throws {
        let line = StatusTable([.file(try entry("a\u{1B}[2J.jpg", "done"))], look: .plain).lines()[0]
        #expect(line.hasSuffix(#"a\u{1B}[2J.jpg"#))
    }

    @Test("states have colours if colours are enabled")
    func colours() throws {
        let look = ConsoleLook(isLive: true, hasColours: true, hasUnicode: true, columns: 80)
        #expect(try entry("a.jpg", "done", size: 4_834_205).outcomeLine(look) == "\u{1B}[32mdone\u{1B}[0m a.jpg 4.8 MB")
        #expect(
            StatusTable([.file(try entry("a", "failed"))], look: look).lines()[0].hasPrefix("\u{1B}[31mfailed\u{1B}[0m")
        )
    }

    @Test("a file in another final state than done shows the reason")
    func outcome() throws {
        #expect(
            try entry("a.jpg", "failed", error: "refused").outcomeLine(.plain) == "failed a.jpg: because of refused")
    }

    @Test("the summary counts states and shows the speed")
    func summary() throws {
        let files = [
            try entry("a", "uploading", size: 10_000_000, progress: 0.5, key: "1", speed: 100_000),
            try entry("copy of a", "uploading", size: 10_000_000, progress: 0.5, key: "1", speed: 100_000),
            try entry("b", "queued", size: 1_000_000, key: "2"), try entry("c", "done"), try entry("d", "odd-state"),
        ]
        let summary = FilesSummary(files)
        #expect(summary.line(.plain) == "2 uploading, 1 queued, 1 done, 1 odd-state — 100 kB/s, 1 min left")
        #expect(summary.counts["uploading"] == 2)
        #expect(summary.counts["failed"] == 0)
        #expect(summary.counts.count == 14)
    }

    @Test("the summary counts files that are not listed, and then does not guess the remaining time")
    func countedSummary() throws {
        let files = [try entry("a", "uploading", size: 10_000_000, progress: 0.5, speed: 100_000)]
        let all = FilesSummary(files, counts: ["uploading": 1, "done": 1_000_000])
        #expect(all.line(.plain) == "1 uploading, 1000000 done — 100 kB/s, 50 s left")
        let some = FilesSummary(files, counts: ["uploading": 1, "queued": 7])
        #expect(some.line(.plain) == "1 uploading, 7 queued — 100 kB/s")
    }

    @Test("the summary says that more files wait in directories that the agent has not taken yet")
    func deferredSummary() throws {
        let some = FilesSummary([try entry("b", "hashing")], counts: ["hashing": 4096], deferred: 12)
        #expect(some.line(.plain) == "4096 hashing, and new files in 12 directories")
        #expect(FilesSummary([], deferred: 1).line(.plain) == "no files yet, and new files in 1 directory")
    }

    @Test("an empty summary says so")
    func nothing() {
        #expect(FilesSummary([]).line(.plain) == "no files yet")
    }

    @Test("the short list has the files not in a final state, and the latest outcomes")
    func selection() throws {
        let files = [
            try entry("a", "done", finishedAt: "2026-11-21T10:00:00.000Z"),
            try entry("b", "done", finishedAt: "2026-11-21T12:00:00.000Z"), try entry("c", "queued"),
            try entry("d", "failed", finishedAt: "2026-11-21T11:00:00.000Z"),
        ]
        let selection = FileSelection(of: files, ended: 1)
        #expect(selection.shown.map(\.path) == ["b", "c", "d"])
        #expect(selection.leftOut == 1)
        #expect(FileSelection(of: files, ended: .max).leftOut == 0)
    }

    @Test("a limit keeps so many files of each state, of finished files the latest")
    func limit() throws {
        let files = [
            try entry("a", "done", finishedAt: "2026-11-21T09:30:01.000Z"),
            try entry("b", "done", finishedAt: "2026-11-21T09:30:03.000Z"),
            try entry("c", "done", finishedAt: "2026-11-21T09:30:02.000Z"), try entry("d", "queued"),
            try entry("e", "queued"), try entry("f", "queued"), try entry("g", "waiting"),
        ]
        #expect(files.latest(2).map(\.path) == ["b", "c", "d", "e", "g"])
        #expect(files.latest(0) == [])
        #expect(files.latest(9) == files)
    }
}
