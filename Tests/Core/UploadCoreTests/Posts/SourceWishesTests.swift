import Testing
import UploadCore

/// Every stage of a source, and how to reach it.
enum SourcePlace: String, CaseIterable, Sendable {
    case draft, collecting, uploading, committing, done, failed, cancelled, rejected

    func bench() -> SourceBench {
        switch self {
        case .draft:
            var bench = SourceBench(.draft)
            bench.tell(.described(SourceDescription(isDraft: true)), .file("a", .queued(1)))
            return bench
        case .collecting:
            var bench = SourceBench()
            bench.tell(.described(SourceDescription()), .file("a", .queued(1)))
            return bench
        case .uploading: return .uploading()
        case .committing: return .committing()
        case .done: return .done()
        case .failed: return .failed()
        case .cancelled: return .cancelled()
        case .rejected: return .rejected()
        }
    }
}

/// Events for a source that may come at any moment.
enum SourceHappening: String, CaseIterable, Sendable {
    case submit, pause, cancel, retry, removed, stale, tick, malformed

    var event: SourceEvent {
        switch self {
        case .submit: .submit
        case .pause: .setPaused(true)
        case .cancel: .cancel
        case .retry: .retry
        case .removed: .removed
        case .stale: .committed(revision: 9, .done(url: nil))
        case .tick: .tick
        case .malformed: .malformed(.broken)
        }
    }
}

/// Each stage with the effects of events (all others have none) and the resulting requests: `+`.
private let table = """
    draft | submit: collecting, cancel: cancelled +discard, removed: cancelled +discard, malformed: rejected
    collecting | cancel: cancelled +discard, removed: cancelled +discard, malformed: rejected
    uploading | cancel: cancelled +discard, removed: cancelled +discard
    committing | pause: committing +withdraw, cancel: cancelled +discard +withdraw, removed: cancelled +discard +withdraw
    done |
    failed | submit: collecting +retry, retry: collecting +retry, removed: cancelled +discard
    cancelled | submit: collecting +retry, retry: collecting +retry
    rejected | removed: cancelled +discard
    """

@Suite("User actions on a source")
struct SourceWishesTests {
    private static func expected(_ place: SourcePlace, _ happening: SourceHappening) throws -> String {
        let row = try #require(table.split(separator: "\n").first { $0.hasPrefix("\(place.rawValue) ") })
        let cells = row.split(separator: "|").dropFirst().joined().split(separator: ",")
        let own = cells.map { $0.split(separator: ":") }.first {
            $0[0].split(separator: " ") == [happening.rawValue[...]]
        }
        return (own?.last ?? place.rawValue[...]).split(separator: " ").joined(separator: " ")
    }

    @Test("have the outcome in the table", arguments: SourcePlace.allCases, SourceHappening.allCases)
    func outcome(place: SourcePlace, happening: SourceHappening) throws {
        var bench = place.bench()
        let words = bench.tell(happening.event).compactMap { action in
            switch action {
            case .discardFiles: "+discard"
            case .withdrawCommit: "+withdraw"
            case .retryFiles: "+retry"
            case .commit, .verify, .store, .changed: "+other"
            }
        }
        #expect(try ([bench.stage.word] + words).joined(separator: " ") == Self.expected(place, happening))
    }

    @Test(
        "a pause holds everything and is stored",
        arguments: [SourcePlace.draft, .collecting, .uploading, .committing])
    func pause(place: SourcePlace) {
        var bench = place.bench()
        bench.tell(.setPaused(true))
        #expect(bench.stored.isPaused)
        #expect(bench.machine.holds("a"))
        bench.pass(.seconds(9))
        #expect(bench.stage.word == place.rawValue)
        bench.tell(.setPaused(false))
        #expect(!bench.stored.isPaused)
    }

    @Test("a cancelled source deletes its uploads, and names the user as the cause")
    func cancel() {
        var bench = SourceBench.uploading()
        bench.tell(.file("c", .rejected), .file("d", .queued(4)))
        #expect(bench.tell(.cancel) == [.discardFiles(["a", "b", "d"], .cancelledByUser)])
        #expect(bench.stage == .cancelled(.cancelledByUser))
        #expect(bench.machine.record.finishedAt == bench.now.wall)
        #expect(bench.machine.holds("a"))
    }

    @Test(
        "files of an earlier revision stay on the server if the next is cancelled",
        arguments: [SourceEvent.cancel, .removed])
    func cancelLater(event: SourceEvent) {
        var bench = SourceBench.done()
        bench.tell(.renamed("a", to: "z"), .file("c", .queued(3)))
        bench.tell(.submit)
        let actions = bench.tell(event)
        guard case .discardFiles(["c"], _) = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(bench.machine.record.post?.revision == 1)
    }

    @Test("a cancelled source waits after `submit` until its files were checked again")
    func startAgain() {
        var bench = SourceBench.uploading()
        bench.tell(.file("a", .done(1)))
        #expect(bench.tell(.cancel, .submit).last == .retryFiles(["a", "b"]))
        bench.tell(.file("a", .cancelled(1)))
        bench.pass(.seconds(60))
        #expect(bench.stage == .collecting)
        bench.tell(.file("a", .queued(1)), .file("b", .queued(2)))
        #expect(bench.stage == .uploading)
        #expect(bench.machine.record.revision == 1)
    }

    @Test("a number that the server may know is not used for other files", arguments: [SourceEvent.cancel, .removed])
    func burnt(event: SourceEvent) {
        var bench = SourceBench.committing()
        bench.tell(event)
        bench = bench.restarted()
        bench.tell(.described(SourceDescription(title: "Sea")), .file("a", .cancelled(1)), .file("b", .cancelled(2)))
        bench.tell(.submit)
        bench.tell(.file("a", .queued(1)), .gone("b"))
        bench.pass(.seconds(2))
        bench.tell(.file("a", .done(1)))
        #expect(bench.commit?.revision == 2)
        #expect(bench.commit?.fileIDs == ["id1"])
    }

    @Test("a cancel and a submit at once, with all files on the server, commit under a new number")
    func cancelAndSubmit() {
        var bench = SourceBench.done()
        bench.tell(.gone("b"))
        bench.tell(.submit)
        bench.pass(.seconds(2))
        #expect(bench.commit?.revision == 2)
        bench.pass(.seconds(2))
        let actions = bench.tell(.cancel, .submit)
        #expect(actions.contains(.withdrawCommit))
        #expect(bench.commit?.revision == 3)
        #expect(bench.commit.map { actions.last == .commit($0, forgotten: 0) } == true)
    }

    @Test("a source that failed because of a file is retried under the same number")
    func retryFailed() {
        var bench = SourceBench.failed()
        #expect(bench.tell(.retry) == [.retryFiles(["b"])])
        bench.pass(.seconds(9))
        #expect(bench.stage == .collecting)
        bench.tell(.file("b", .queued(2)))
        #expect(bench.stage == .uploading)
        bench.tell(.file("b", .done(2)))
        #expect(bench.commit?.revision == 1)
    }

    @Test("`submit` makes a new revision of changed files")
    func newRevision() {
        var bench = SourceBench.done()
        bench.tell(.gone("a"), .file("b", .queued(7)), .file("c", .queued(3)))
        #expect(bench.machine.pendingChanges == ["a", "b", "c"])
        bench.tell(.submit)
        #expect(bench.stage == .collecting)
        bench.pass(.seconds(2))
        #expect(bench.machine.record.revision == 2)
        bench.tell(.file("b", .done(7)), .file("c", .done(3)))
        #expect(bench.commit?.fileIDs == ["id7", "id3"])
        bench.tell(.committed(revision: 2, .done(url: nil)))
        #expect(bench.machine.pendingChanges == [])
        #expect(bench.machine.record.post?.revision == 2)
    }

    @Test("`submit` without changes makes no revision")
    func nothingChanged() {
        var bench = SourceBench.done()
        #expect(bench.machine.handle([.submit], now: bench.now) == [])
        bench.tell(.file("c", .queued(3)))
        bench.tell(.submit, .gone("c"))
        bench.pass(.seconds(2))
        #expect(bench.stage == .done)
        #expect(bench.machine.record.revision == 1)
    }

    @Test("`submit` adds new files to the revision under way")
    func submitUploading() {
        var bench = SourceBench.uploading()
        bench.tell(.submit)
        #expect(bench.stage == .uploading)
        bench.tell(.file("c", .queued(3)))
        bench.tell(.submit)
        bench.pass(.seconds(2))
        #expect(bench.machine.record.files.count == 3)
        #expect(bench.machine.record.revision == 1)
    }

    @Test("`draft = true` leaves a done source alone; withdrawn after a change, it starts a revision")
    func doneFlip() {
        var bench = SourceBench.done()
        bench.tell(.described(SourceDescription(title: "Sea", isDraft: true)))
        #expect(bench.machine.pendingChanges == [])
        bench.tell(.file("c", .queued(3)))
        #expect(bench.stage == .done)
        bench.tell(.described(SourceDescription(title: "Sea")))
        #expect(bench.stage == .collecting)
    }
}

extension SourceRecord.Stage {
    var word: String {
        switch self {
        case .draft: "draft"
        case .collecting: "collecting"
        case .uploading: "uploading"
        case .committing: "committing"
        case .done: "done"
        case .failed: "failed"
        case .cancelled: "cancelled"
        case .rejected: "rejected"
        }
    }
}
