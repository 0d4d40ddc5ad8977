import Testing

@testable import UploadCore

/// Files that their disk or file system does not give out for the moment.
@Suite struct UnreadFilesTests {
    private let path: RelativePath = "m/a"
    private let passing = FileError.unreadable("m/a", "Input/output error", "check the disk", isPassing: true)
    private var stage = PathStage()

    init() {
        stage.handle(.scanned(PathFindings(paths: [])))
        stage.write(path, 1)
        stage.news = []
        stage.handle(.seen(path))
    }

    /// Whether the last event had the watch look at the file again.
    private var isLookedAt: Bool { stage.actions.contains { if case .settle(path) = $0 { true } else { false } } }

    private mutating func ready() {
        guard let file = stage.files[path] else { return }
        stage.handle(.ready(path, file.identity, objection: nil))
    }

    /// The watch finds the file, and its hash fails.
    private mutating func failToRead() {
        ready()
        guard let work = stage.hashes.popLast() else { return }
        stage.handle(.hashed(path, job: work.job, as: work.identity, .unreadable(passing)))
    }

    @Test mutating func `a file that can't be read now waits, and is tried after growing pauses until it is read`()
        throws
    {
        var pauses: [Duration] = []
        for _ in 0..<9 {
            failToRead()
            #expect(stage.book.waitToRead(path)?.error == passing)
            #expect(stage.ledger[path] == nil && stage.record(path)?.state == .settling)
            let pause = try #require(stage.book.nextDeadline) - stage.now.monotonic
            stage.pass(pause - .milliseconds(1))
            stage.tick()
            #expect(!isLookedAt)
            stage.pass(.milliseconds(1))
            stage.tick()
            #expect(isLookedAt && stage.book.waitToRead(path) == nil)
            pauses.append(pause)
        }
        #expect(pauses.prefix(5) == pauses.prefix(5).sorted()[...])
        #expect(pauses.allSatisfy { $0 <= .seconds(60) } && pauses.last.map { $0 > .seconds(40) } == true)
        ready()
        stage.pass(.seconds(5))
        stage.hash()
        #expect(stage.record(path)?.state == .queued && stage.book.nextDeadline == nil)
    }

    @Test mutating func `a waiting file is tried at once when its file system is back`() {
        failToRead()
        stage.handle(.mountLost("m"))
        stage.handle(.mounted("other", isSame: true, descriptions: []))
        #expect(!isLookedAt)
        stage.handle(.mounted("m", isSame: true, descriptions: []))
        #expect(isLookedAt)
    }

    @Test mutating func `a waiting file is tried at once if the user asks`() {
        failToRead()
        #expect(stage.act(.retry, on: path) == nil)
        #expect(stage.book.waitToRead(path) == nil)
    }

    @Test mutating func `a file that can't be opened now waits as well`() {
        stage.handle(.unreadable(path, nil, passing))
        #expect(stage.book.waitToRead(path)?.error == passing)
    }

    @Test mutating func `an uploaded file stays done while its file system does not answer`() {
        ready()
        stage.pass(.seconds(5))
        stage.hash()
        stage.confirm(PathStage.key(1))
        stage.handle(.unreadable(path, nil, passing))
        #expect(stage.record(path)?.state == .done && stage.book.waitToRead(path) == nil)
    }

    @Test mutating func `a file that is removed while it waits leaves nothing behind`() {
        failToRead()
        stage.remove(path)
        stage.tellNext()
        stage.pass(.seconds(3))
        stage.tick()
        #expect(stage.record(path)?.state == .cancelled)
        #expect(stage.book.waitToRead(path) == nil)
    }
}
