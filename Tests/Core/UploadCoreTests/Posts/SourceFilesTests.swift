import Testing
import UploadCore

@Suite("Files of a source under way")
struct SourceFilesTests {
    private func key(_ number: UInt64) -> ContentKey { content(number).key }

    @Test("a file that vanishes before it is done is left out, a done file stays")
    func vanished() {
        var bench = SourceBench.uploading()
        bench.tell(.file("a", .done(1)))
        bench.tell(.gone("a"), .gone("b"))
        #expect(bench.machine.record.skipped == ["b"])
        #expect(bench.commit?.fileIDs == ["id1"])
        bench = bench.restarted()
        #expect(bench.tell(.tick).count == 1)
        #expect(bench.commit?.fileIDs == ["id1"])
    }

    @Test("a vanished done file stays included after a restart before the others are done")
    func vanishedOverRestart() {
        var bench = SourceBench.uploading()
        bench.tell(.file("a", .done(1)))
        bench.tell(.gone("a"))
        bench = bench.restarted()
        bench.tell(.gone("a"), .file("b", .queued(2)))
        bench.tell(.file("b", .done(2)))
        #expect(bench.commit?.fileIDs == ["id1", "id2"])
    }

    @Test("the source is cancelled when all of them vanish")
    func allVanished() {
        var bench = SourceBench.uploading()
        bench.tell(.gone("a"))
        bench.tell(.gone("b"))
        #expect(bench.code == "removed")
    }

    @Test("a renamed file keeps its place")
    func renamed() {
        var bench = SourceBench.uploading()
        bench.tell(.renamed("a", to: "sub/c"))
        #expect(bench.machine.record.files == ["b": key(2), "sub/c": key(1)])
        #expect(bench.machine.pendingChanges == [])
        #expect(!bench.machine.holds("sub/c"))
        bench.tell(.file("sub/c", .done(1)), .file("b", .done(2)))
        #expect(bench.commit?.fileIDs == ["id2", "id1"])
        bench.tell(.renamed("b", to: "d"))
        bench.tell(.committed(revision: 1, .done(url: nil)))
        #expect(bench.machine.record.post?.files == ["d": key(2), "sub/c": key(1)])
        #expect(!bench.machine.keepsFiles)
    }

    @Test("a change before a file is done is part of the revision")
    func changed() {
        var bench = SourceBench.uploading()
        bench.tell(.file("a", .settling))
        #expect(!bench.machine.holds("a"))
        #expect(bench.machine.record.files["a"] == key(1))
        bench.tell(.file("a", .queued(7)))
        #expect(bench.machine.record.files["a"] == key(7))
        #expect(bench.machine.pendingChanges == [])
        bench.tell(.file("a", .done(7)), .file("b", .done(2)))
        #expect(bench.commit?.fileIDs == ["id7", "id2"])
    }

    @Test("a change after a file is done comes with the next revision")
    func changedLater() {
        var bench = SourceBench.uploading()
        bench.tell(.file("a", .done(1)))
        bench.tell(.file("a", .settling))
        #expect(bench.machine.holds("a"))
        bench.tell(.file("a", .queued(7)))
        #expect(bench.machine.record.files["a"] == key(1))
        #expect(bench.machine.pendingChanges == ["a"])
        #expect(bench.machine.holds("a"))
        bench.tell(.file("b", .done(2)))
        #expect(bench.commit?.fileIDs == ["id1", "id2"])
        bench.tell(.committed(revision: 1, .done(url: nil)))
        #expect(bench.machine.pendingChanges == ["a"])
        #expect(bench.machine.holds("a"))
        #expect(bench.machine.keepsFiles)
    }

    @Test("a cancelled or rejected file is left out", arguments: [SourceFile.cancelled(1), .rejected])
    func leftOut(file: SourceFile) {
        var bench = SourceBench.uploading()
        bench.tell(.file("a", file))
        #expect(bench.machine.record.skipped == ["a"])
        bench.tell(.file("b", .done(2)))
        #expect(bench.commit?.fileIDs == ["id2"])
    }

    @Test("a failed file fails the source once the others are done, and is named")
    func failed() {
        var bench = SourceBench.uploading()
        bench.tell(.file("b", .failed(2)))
        #expect(bench.stage == .uploading)
        bench.tell(.file("a", .done(1)))
        guard case .failed(let error) = bench.stage else {
            Issue.record("not failed: \(bench.stage)")
            return
        }
        #expect(error.code == "file_failed")
        #expect(error.message.hasPrefix("b: too big for the server"))
    }

    @Test("an added file is held and comes with the next revision")
    func added() {
        for var bench in [SourceBench.uploading(), .committing(), .done()] {
            bench.tell(.file("c", .queued(3)), .file("d", .rejected), .file("e", .settling))
            #expect(bench.machine.pendingChanges == ["c", "e"])
            #expect(bench.machine.holds("c"))
            #expect(!bench.machine.record.files.keys.contains("c"))
            bench.tell(.gone("c"), .gone("e"))
            #expect(bench.machine.pendingChanges == [])
        }
    }

    @Test("each content under way is gathered once, in the order of names")
    func gathered() {
        var bench = SourceBench()
        bench.tell(.described(SourceDescription()), .file("a", .queued(2)))
        bench.tell(.file("c", .queued(2)), .file("b", .queued(1)))
        #expect(bench.machine.gathered == [])
        bench.pass(.seconds(2))
        #expect(bench.machine.isGathered)
        #expect(bench.machine.gathered == [key(2), key(1)])
        bench.tell(.file("a", .done(2)), .file("c", .done(2)), .file("b", .done(1)))
        #expect(bench.commit?.fileIDs == ["id2", "id1"])
        #expect(bench.machine.gathered == [])
    }

    @Test("a restart waits for a report of each file, and counts no unreported file as missing")
    func restart() {
        var bench = SourceBench.uploading().restarted()
        bench.tell(.described(SourceDescription(title: "Sea")), .file("a", .done(1)))
        #expect(bench.stage == .uploading)
        #expect(!bench.machine.holds("b"))
        bench.tell(.file("b", .done(2)))
        #expect(bench.commit?.fileIDs == ["id1", "id2"])
    }

    @Test("a title edited meanwhile comes with the next revision")
    func title() {
        var bench = SourceBench.uploading()
        bench.tell(.described(SourceDescription(title: "Other")))
        #expect(bench.machine.pendingChanges == ["source.toml"])
        bench.tell(.file("a", .done(1)), .file("b", .done(2)))
        #expect(bench.commit?.title == "Sea")
        bench.tell(.committed(revision: 1, .done(url: nil)))
        #expect(bench.machine.record.post?.description.title == "Sea")
        #expect(bench.machine.pendingChanges == ["source.toml"])
        bench.tell(.submit)
        bench.pass(.seconds(2))
        #expect(bench.commit?.title == "Other")
        #expect(bench.commit?.revision == 2)
    }
}
