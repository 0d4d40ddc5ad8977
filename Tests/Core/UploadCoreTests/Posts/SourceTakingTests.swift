import Testing
import UploadCore

@Suite("Acceptance of a source")
struct SourceTakingTests {
    private let plain = SourceDescription(title: "Sea")
    private let draft = SourceDescription(title: "Sea", isDraft: true)

    @Test("includes the usable files, after two seconds without change")
    func taken() {
        var bench = SourceBench()
        bench.tell(.described(plain), .file("a", .queued(1)), .file("b", .rejected), .file("c", .cancelled(3)))
        bench.pass(.milliseconds(1999))
        #expect(bench.stage == .collecting)
        bench.pass(.milliseconds(1))
        #expect(bench.stage == .uploading)
        #expect(bench.machine.record.revision == 1)
        #expect(bench.machine.record.files == ["a": content(1).key])
        #expect(bench.machine.record.skipped == ["b", "c"])
        #expect(!bench.machine.holds("a"))
    }

    /// An event one second after the last change, and whether the event restarts the wait of two seconds.
    @Test(
        "waits again after a change, but not after progress of an upload",
        arguments: [
            (SourceEvent.moved, true), (.file("b", .queued(2)), true), (.gone("a"), true),
            (.renamed("a", to: "b"), true),
            (.file("a", .queued(3)), true), (.described(SourceDescription(title: "Other")), true),
            (.file("a", .done(1)), false), (.tick, false), (.described(SourceDescription(title: "Sea")), false),
        ])
    func moves(event: SourceEvent, isMove: Bool) {
        var bench = SourceBench()
        bench.tell(.described(plain), .file("a", .queued(1)), .file("z", .queued(9)))
        bench.pass(.seconds(1))
        bench.tell(event)
        bench.pass(.milliseconds(1500))
        #expect((bench.stage == .collecting) == isMove)
        bench.pass(.milliseconds(500))
        #expect(bench.stage == .uploading)
    }

    @Test(
        "waits for files with unknown content",
        arguments: [
            [SourceEvent.file("a", .queued(1))], [.described(SourceDescription())],
            [.described(SourceDescription()), .file("a", .queued(1)), .file("b", .settling)],
            [.described(SourceDescription()), .file("a", SourceFile(state: .hashing))],
            [.described(SourceDescription()), .file("a", .queued(1)), .setPaused(true)],
        ])
    func waits(events: [SourceEvent]) {
        var bench = SourceBench()
        bench.tell(events)
        bench.pass(.seconds(60))
        #expect(bench.stage == .collecting)
        #expect(bench.machine.nextDeadline == nil)
    }

    @Test("continues at once when the last file of a quiet directory becomes known")
    func lastHash() {
        var bench = SourceBench()
        bench.tell(.described(plain), .file("a", SourceFile(state: .hashing)))
        bench.pass(.seconds(60))
        bench.tell(.file("a", .queued(1)))
        #expect(bench.stage == .uploading)
    }

    @Test("is refused with more than 50 files, and continues with 50")
    func tooMany() {
        var bench = SourceBench()
        bench.tell(.described(plain))
        for number in 0..<51 { bench.tell(.file(RelativePath("f\(number)") ?? .root, .queued(UInt64(number)))) }
        bench.tell(.file("r", .rejected))
        bench.pass(.seconds(2))
        guard case .rejected(let error) = bench.stage else {
            Issue.record("not rejected: \(bench.stage)")
            return
        }
        #expect(error.code == "too_many_files")
        #expect(error.message.contains("50") && error.message.contains("51"))
        #expect(bench.machine.record.finishedAt == bench.now.wall)
        #expect(bench.machine.holds("f1"))
        bench.tell(.gone("f7"))
        #expect(bench.stage == .collecting)
        #expect(bench.machine.record.finishedAt == nil)
        bench.pass(.seconds(2))
        #expect(bench.stage == .uploading)
        #expect(bench.machine.record.files.count == 50)
    }

    @Test("is refused if no file is usable, and waits if there is no file")
    func noFiles() {
        var bench = SourceBench()
        bench.tell(.described(plain), .file("a", .rejected))
        bench.pass(.seconds(2))
        #expect(bench.code == "no_files")
        bench.tell(.gone("a"))
        bench.pass(.seconds(5))
        #expect(bench.stage == .collecting)
    }

    @Test("is refused for a missing cover until the cover appears")
    func noCover() {
        var bench = SourceBench()
        bench.tell(.described(SourceDescription(cover: "beach.jpg")), .file("a", .queued(1)))
        bench.pass(.seconds(2))
        #expect(bench.code == "no_cover")
        bench.tell(.file("beach.jpg", .queued(2)))
        bench.pass(.seconds(2))
        #expect(bench.stage == .uploading)
    }

    @Test("stays refused after a restart until all files are reported")
    func rejectedOverRestart() {
        var bench = SourceBench()
        bench.tell(.described(SourceDescription(cover: "beach.jpg")), .file("a", .queued(1)))
        bench.pass(.seconds(2))
        bench = bench.restarted()
        bench.tell(.described(SourceDescription(cover: "beach.jpg")), .file("a", .queued(1)))
        #expect(bench.code == "no_cover")
        bench.pass(.seconds(9))
        #expect(bench.code == "no_cover")
        bench.tell(.gone("a"), .file("beach.jpg", .queued(2)))
        bench.pass(.seconds(2))
        #expect(bench.stage == .uploading)
    }

    @Test("fails if a file failed earlier, instead of continuing without the file")
    func failedFile() {
        var bench = SourceBench()
        bench.tell(.described(plain), .file("a", .queued(1)), .file("b", .failed(2)))
        bench.pass(.seconds(2))
        #expect(bench.code == "file_failed")
    }

    @Test(
        "is refused at once for a malformed source.toml",
        arguments: [SourceRecord.Stage.draft, .collecting])
    func malformed(stage: SourceRecord.Stage) {
        var bench = SourceBench(stage)
        bench.tell(.described(stage == .draft ? draft : plain), .file("a", .queued(1)))
        bench.tell(.malformed(.broken))
        #expect(bench.stage == .rejected(.broken))
        #expect(bench.machine.record.description == nil)
        bench.tell(.described(stage == .draft ? draft : plain))
        #expect(bench.stage == stage)
    }

    @Test("is not undone by a malformed source.toml, which becomes a pending change")
    func malformedLater() {
        for var bench in [SourceBench.uploading(), .committing(), .done()] {
            let stage = bench.stage
            bench.tell(.malformed(.broken))
            #expect(bench.stage == stage)
            #expect(bench.machine.pendingChanges == ["source.toml"])
            bench.tell(.described(plain))
            #expect(bench.machine.pendingChanges == [])
        }
    }

    @Test("waits while the source is a draft, with any number of files")
    func draftStays() {
        var bench = SourceBench(.draft)
        bench.tell(.described(draft))
        for number in 0..<60 { bench.tell(.file(RelativePath("f\(number)") ?? .root, .queued(UInt64(number)))) }
        bench.pass(.seconds(60))
        #expect(bench.stage == .draft)
        #expect(bench.machine.holds("f1"))
        bench.tell(.submit)
        #expect(bench.code == "too_many_files")
    }

    @Test("a draft is submitted by `draft = false`")
    func flip() {
        var bench = SourceBench(.draft)
        bench.tell(.described(draft), .file("a", .queued(1)))
        bench.pass(.seconds(60))
        bench.tell(.described(plain))
        #expect(bench.stage == .collecting)
        bench.pass(.seconds(2))
        #expect(bench.stage == .uploading)
    }

    @Test("is undone by `draft = true`, which holds the files")
    func flipBack() {
        var early = SourceBench()
        early.tell(.described(plain), .file("a", .queued(1)))
        for var bench in [early, .uploading()] {
            bench.tell(.described(draft))
            #expect(bench.stage == .draft)
            #expect(bench.machine.holds("a"))
            bench.pass(.seconds(9))
            bench.tell(.described(plain))
            bench.pass(.seconds(2))
            #expect(bench.stage == .uploading)
            #expect(bench.machine.record.revision == 1)
        }
    }

    @Test("a submitted draft stays submitted while its title is edited, also after a restart")
    func submittedDraft() {
        var bench = SourceBench(.draft)
        bench.tell(.described(draft), .file("a", .queued(1)))
        bench.tell(.submit)
        bench.tell(.described(SourceDescription(title: "Other", isDraft: true)))
        #expect(bench.stage == .collecting)
        bench = bench.restarted()
        bench.tell(.described(SourceDescription(title: "Third", isDraft: true)), .file("a", .queued(1)))
        #expect(bench.stage == .collecting)
        bench.pass(.seconds(2))
        #expect(bench.stage == .uploading)
        bench.tell(.described(SourceDescription(title: "Third", isDraft: false)))
        #expect(bench.stage == .uploading)
        bench.tell(.described(SourceDescription(title: "Third", isDraft: true)))
        #expect(bench.stage == .draft)
    }

    @Test("a `submit` before source.toml was read counts")
    func submitFirst() {
        var bench = SourceBench()
        bench.tell(.submit)
        bench.tell(.described(draft), .file("a", .queued(1)))
        bench.pass(.seconds(2))
        #expect(bench.stage == .uploading)
    }

    @Test("files under way continue until the source is known to be a draft")
    func adopted() {
        var bench = SourceBench()
        bench.tell(.adopt(["a"]), .file("a", .queued(1)), .file("b", .queued(2)))
        #expect(!bench.machine.holds("a"))
        #expect(bench.machine.holds("b"))
        var other = bench
        bench.tell(.described(plain))
        #expect(!bench.machine.holds("a"))
        other.tell(.described(draft))
        #expect(other.stage == .draft)
        #expect(other.machine.holds("a"))
    }
}
