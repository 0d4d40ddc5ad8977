import Testing
import UploadCore

@Suite("Commit of a source")
struct SourceCommitTests {
    @Test("is sent once every file is done, and is durable before")
    func asked() {
        var bench = SourceBench.uploading()
        bench.tell(.file("a", .done(1)))
        let actions = bench.machine.handle([.file("b", .done(2))], now: bench.now)
        let commit = SourceCommit(
            sourceID: bench.stored.id, revision: 1, title: "Sea", cover: "id1", fileIDs: ["id1", "id2"],
            createdAt: WallTime(milliseconds: 1))
        #expect(actions == [.store, .commit(commit, forgotten: 0), .changed])
    }

    /// The cover in `source.toml`, the files that are pictures, and the resulting cover.
    @Test(
        "has the named cover, else the first picture, else the first file",
        arguments: [
            (RelativePath?.some("a"), ["b"], "id1"), (nil, ["b", "c"], "id2"), (nil, [], "id1"), ("c", ["b"], "id3"),
        ])
    func cover(named: RelativePath?, pictures: [RelativePath], id: String) {
        var bench = SourceBench()
        bench.tell(.described(SourceDescription(cover: named)))
        let names: [RelativePath] = ["a", "b", "c"]
        for (number, name) in names.enumerated() {
            bench.tell(
                .file(name, pictures.contains(name) ? .picture(UInt64(number) + 1) : .queued(UInt64(number) + 1)))
        }
        bench.pass(.seconds(2))
        for (number, name) in names.enumerated() {
            var file = SourceFile.done(UInt64(number) + 1)
            file.isPicture = pictures.contains(name)
            bench.tell(.file(name, file))
        }
        #expect(bench.commit?.cover == id)
    }

    @Test("chooses a cover among the remaining files if the named one vanished")
    func vanishedCover() {
        var bench = SourceBench.uploading(SourceDescription(cover: "b"))
        #expect(bench.machine.cover == "b")
        bench.tell(.gone("b"))
        bench.tell(.file("a", .done(1)))
        #expect(bench.commit?.cover == "id1")
    }

    @Test("has the directory's name if there is no title")
    func title() {
        #expect(SourceBench.committing(SourceDescription()).commit?.title == "sea")
    }

    @Test("is unchanged if the directory is renamed during the commit")
    func moved() {
        var bench = SourceBench.committing(SourceDescription())
        #expect(bench.machine.move(to: "trips/ocean") == [.store, .changed])
        #expect(bench.machine.record.directory == "trips/ocean")
        #expect(bench.commit?.title == "sea")
        #expect(bench.machine.move(to: "trips/ocean") == [])
    }

    @Test("is repeated unchanged after a restart, once")
    func restart() throws {
        let first = try #require(SourceBench.committing().commit)
        var bench = SourceBench.committing().restarted()
        #expect(bench.tell(.file("a", .done(1, id: "other"))) == [.commit(first, forgotten: 0)])
        #expect(bench.tell(.tick) == [])
    }

    @Test("is withdrawn by a pause and repeated unchanged afterwards, also after a restart")
    func pause() throws {
        var bench = SourceBench.committing()
        let first = try #require(bench.commit)
        #expect(bench.tell(.setPaused(true)) == [.withdrawCommit])
        #expect(bench.machine.holds("a"))
        bench = bench.restarted()
        #expect(bench.tell(.file("a", .done(1))) == [])
        #expect(bench.tell(.setPaused(false)) == [.commit(first, forgotten: 0)])
    }

    @Test("is not begun while paused")
    func pausedBefore() {
        var bench = SourceBench.uploading()
        bench.tell(.setPaused(true))
        #expect(bench.tell(.file("a", .done(1)), .file("b", .done(2))) == [])
        #expect(bench.stage == .uploading)
        #expect(bench.tell(.setPaused(false)).count == 1)
    }

    @Test("becomes the post once confirmed")
    func done() {
        let bench = SourceBench.done()
        #expect(bench.stage == .done)
        #expect(bench.machine.record.post?.url == "http://post/1")
        #expect(bench.machine.record.post?.revision == 1)
        #expect(bench.machine.record.finishedAt == bench.now.wall)
        #expect(!bench.machine.keepsFiles)
        #expect(bench.machine.pendingChanges == [])
    }

    @Test("ignores an answer to another revision, or without a commit")
    func stale() {
        var bench = SourceBench.committing()
        #expect(bench.tell(.committed(revision: 2, .done(url: nil))) == [])
        #expect(bench.commit != nil)
        bench.tell(.cancel)
        bench.tell(.committed(revision: 1, .done(url: nil)))
        #expect(bench.code == "cancelled")
    }

    @Test("fails if refused, and is retried under the same number")
    func refused() {
        var bench = SourceBench.committing()
        bench.tell(.committed(revision: 1, .refused(.refused)))
        #expect(bench.stage == .failed(.refused))
        bench.tell(.retry)
        #expect(bench.commit?.revision == 1)
    }

    @Test("gets a new number if sent more than once and then refused: another copy may have arrived")
    func refusedAfterPause() {
        var paused = SourceBench.committing()
        paused.tell(.setPaused(true))
        paused.tell(.setPaused(false))
        var killed = SourceBench.committing().restarted()
        killed.tell(.described(SourceDescription(title: "Sea")), .file("a", .done(1)), .file("b", .done(2)))
        for var bench in [paused, killed] {
            #expect(bench.tell(.committed(revision: 1, .refused(.refused))) == [.withdrawCommit])
            bench.tell(.retry)
            bench.pass(.seconds(2))
            #expect(bench.commit?.revision == 2)
        }
    }

    @Test("with an id that the server forgot verifies every file, and waits for a new report of each")
    func forgotten() throws {
        var bench = SourceBench.committing()
        #expect(bench.tell(.committed(revision: 1, .forgotten(.refused))) == [.verify(["a", "b"])])
        #expect(bench.stage == .uploading)
        bench.tell(.file("a", .queued(1)), .file("b", .queued(2)))
        #expect(bench.tell(.file("a", .done(1))) == [])
        let actions = bench.tell(.file("b", .done(2, id: "new")))
        let again = try #require(bench.commit)
        #expect(again.fileIDs == ["id1", "new"])
        #expect(actions == [.commit(again, forgotten: 1)])
        bench.tell(.committed(revision: 1, .forgotten(.refused)))
        #expect(
            bench.tell(.file("a", .done(1)), .file("b", .done(2))).last.map { "\($0)".contains("forgotten: 2") } == true
        )
    }

    @Test("does not count a rename as a new report of a file")
    func forgottenRename() {
        var bench = SourceBench.committing()
        bench.tell(.committed(revision: 1, .forgotten(.refused)))
        #expect(bench.tell(.file("a", .done(1)), .renamed("b", to: "c")) == [.verify(["c"])])
        #expect(bench.tell(.file("c", .done(2))).count == 1)
    }

    @Test("omits a vanished file if the server misses one file and has all others")
    func forgottenVanished() {
        var bench = SourceBench.committing()
        bench.tell(.gone("a"))
        #expect(bench.tell(.committed(revision: 1, .forgotten(.refused))) == [.verify(["b"])])
        bench.tell(.file("b", .done(2)))
        #expect(bench.commit?.fileIDs == ["id1", "id2"])
        bench.tell(.committed(revision: 1, .forgotten(.refused)))
        bench.tell(.file("b", .done(2)))
        #expect(bench.commit?.fileIDs == ["id2"])
        #expect(bench.machine.record.skipped == ["a"])
    }

    @Test("goes out again under the number after the server's latest if the server has other files under this one")
    func taken() {
        var bench = SourceBench.committing()
        let first = bench.commit
        bench.tell(.committed(revision: 1, .taken(latest: 4)))
        #expect(bench.commit?.revision == 5)
        #expect(bench.commit?.fileIDs == first?.fileIDs)
        bench.tell(.committed(revision: 5, .done(url: "http://post/5")))
        #expect(bench.machine.record.post?.revision == 5)
    }

    @Test("fails after 20 numbers in a row, and a retry goes on with the next ones")
    func allTaken() {
        var bench = SourceBench.committing()
        for revision in 1...21 { bench.tell(.committed(revision: revision, .taken(latest: revision))) }
        #expect(bench.code == "revision_taken")
        bench.tell(.retry)
        bench.pass(.seconds(2))
        #expect(bench.commit?.revision == 22)
    }

    @Test("is not stopped by a late `draft = true`")
    func draft() {
        var bench = SourceBench.committing()
        bench.tell(.described(SourceDescription(title: "Other", isDraft: true)))
        #expect(bench.commit?.title == "Sea")
        #expect(bench.machine.pendingChanges == ["source.toml"])
        bench.tell(.committed(revision: 1, .done(url: nil)))
        #expect(bench.stage == .done)
        bench.tell(.described(SourceDescription(title: "Other")))
        bench.pass(.seconds(2))
        #expect(bench.commit?.revision == 2)
    }
}
