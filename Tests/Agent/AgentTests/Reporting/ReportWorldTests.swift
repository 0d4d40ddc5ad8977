import Clocks
import AgentTestSupport
import Ledger
import Reports
import Testing

@testable import Agent
@testable import UploadCore

@Suite("Reports of files")
struct ReportWorldTests {
    private var stage: ReportStage

    init() throws { stage = try ReportStage() }

    private static let busy = FileError(code: "server_error", message: "503", retryable: true)

    @Test("shows a file whose content is unknown as paused, if the user paused it early")
    mutating func early() throws {
        let record = try stage.add("a", .settling)
        #expect(stage.world.report(of: record).state == .settling)
        _ = stage.book.handle(
            .act(.pause, record.path, isByName: true), now: stage.clock.now, facts: stage.core)
        #expect(stage.world.report(at: record.path)?.state == .paused)
    }

    @Test("shows how much of a large file is hashed")
    mutating func hashing() throws {
        let record = try stage.record("a", .hashing)
        let identity = try #require(record.identity)
        let ready = stage.book.handle(
            .ready(record.path, identity, objection: nil), now: stage.clock.now, facts: stage.core)
        for case .hash(let path, _, let job) in ready {
            _ = stage.book.handle(.hashing(path, job: job, bytes: 77), now: stage.clock.now, facts: stage.core)
        }
        let report = stage.world.report(at: record.path)
        #expect(report?.state == .hashing)
        #expect(report?.hashed == 77)
    }

    @Test("shows what the upload machine knows, with speed and bytes in flight while uploading")
    mutating func uploading() throws {
        let record = try stage.add("a")
        let key = try #require(record.key)
        for case .register(let id, _) in try stage.join(record) {
            #expect(stage.world.report(of: record).state == .queued)
            for case .send(let id, _, let fragment, _) in stage.handle(
                .registered(id, key, RemoteHandle(id: "7"), .asRecorded)) where fragment == 0
            {
                stage.transfers.begin(id, key, of: 1000, at: stage.clock.now.monotonic)
                _ = stage.transfers.reach(500, by: id, at: stage.clock.now.monotonic)
            }
        }
        stage.clock.advance(by: .seconds(1))
        let report = stage.world.report(of: record)
        #expect(report.state == .uploading)
        #expect(report.remote.id == "7")
        #expect(report.fragments == .init(total: 2, finished: 0))
        #expect(report.bytesPerSecond == 500)
        #expect(report.bytesInFlight == 500)
    }

    @Test("shows every waiting file as paused while everything is paused, and as signed out after `logout`")
    mutating func everything() throws {
        let record = try stage.add("a")
        try stage.join(record)
        stage.handle(.setSignedOut(Self.busy))
        #expect(stage.world.report(of: record).state == .signedOut)
        #expect(stage.world.report(of: record).error == Self.busy)
        stage.handle(.setAllPaused(true))
        #expect(stage.world.report(of: record).state == .paused)
    }

    @Test(
        "shows a file of an absent account as signed out, unless paused, with the progress of its parked upload",
        arguments: [(.queued, .signedOut, "other_account"), (.paused, .paused, nil)]
            as [(FileState, FileState, String?)])
    mutating func parked(state: FileState, shown: FileState, code: String?) throws {
        let record = try stage.add("a", state, account: "anna")
        stage.core.parked.add(record, of: "anna")
        let plan = FragmentPlan(size: stage.size)
        let upload = UploadRecord(
            key: try #require(record.key), seal: ContentSeal(size: stage.size, digest: 1), plan: plan,
            scope: RemoteScope("test http://127.0.0.1 anna"), order: 1)
        _ = stage.core.parked.add(ParkedUploads.Entry(record: upload, acknowledged: FragmentSet(prefix: 1)))
        let report = stage.world.report(of: record)
        #expect(report.state == shown)
        #expect(report.error?.code == code)
        #expect(report.fragments == .init(total: 2, finished: 1))
        #expect(report.progress == 0.5)
    }

    @Test("shows a profile picture as its sender reported it")
    mutating func portrait() throws {
        let record = try stage.add("portrait/me.png")
        stage.portraits[record.path] = PortraitReport(
            path: record.path, key: try #require(record.key), state: .waiting, error: Self.busy, attempts: 3)
        let report = stage.world.report(of: record)
        #expect(report.state == .waiting)
        #expect(report.error == Self.busy)
        #expect(report.attempts == 3)
    }

    @Test("shows a final state as recorded", arguments: [FileState.done, .failed, .cancelled, .rejected])
    mutating func final(state: FileState) throws {
        let record = try stage.record("portrait/a", state, account: "anna")
        stage.portraits[record.path] = PortraitReport(
            path: record.path, key: try #require(record.key), state: .waiting)
        stage.handle(.setAllPaused(true))
        let report = stage.world.report(of: record)
        #expect(report.state == state)
        #expect(report.progress == (state == .done ? 1 : 0))
    }

    // MARK: Look-ups

    @Test("finds a file by its id, whether the ledger knows it or not")
    mutating func identifiers() async throws {
        let fresh = try stage.add("a", .settling)
        let stored = try stage.record("b", .done)
        await stage.ledger.commit([.drop(stored)])
        for record in [fresh, stored] {
            #expect(stage.world.report(withID: FileReport.id(of: record.path))?.path == record.path)
        }
        #expect(stage.world.report(withID: "0") == nil)
    }

    @Test("acts on everything that is not in the wanted state, except drafts and former profile pictures")
    mutating func all() async throws {
        _ = try stage.addPost(.draft)
        let names = ["waiting", "sea/a.jpg", "paused"]
        for name in names { try stage.add(name, name == "paused" ? .paused : .queued) }
        stage.portraits[try #require(RelativePath("waiting"))] = PortraitReport(
            path: try #require(RelativePath("waiting")), key: ContentKey(high: 1, low: 1), state: .waiting)
        let ended = try ["failed", "portrait/old"].map { try stage.record($0, .failed) }
        await stage.ledger.commit(ended.map { .drop($0) })
        try stage.write("failed")
        let found: [(UserAction, [String])] = [
            (.cancel, ["failed", "paused", "portrait/old", "waiting"]), (.resume, ["paused"]),
            (.retry, ["failed", "waiting"]),
        ]
        let all = Array(stage.world.book.drops.values) + ended
        for (action, expected) in found {
            let order = BulkAction(action: action, directory: nil, askedAt: WallTime(milliseconds: .max))
            let paths = all.filter { stage.world.concerns(order, $0) }.map(\.path.description).sorted()
            #expect(paths == expected, "\(action)")
        }
    }

    @Test(
        "of a directory, retries files that failed, were cancelled or rejected and still exist, and leaves posts alone")
    mutating func directory() throws {
        _ = try stage.addPost(.failed(FileError(code: "x", message: "", retryable: false)))
        let states: [(String, FileState)] = [
            ("d/failed", .failed), ("d/cancelled", .cancelled), ("d/rejected", .rejected), ("d/done", .done),
            ("sea/failed", .failed),
        ]
        for (name, _) in states { try stage.write(name) }
        let all = try (states + [("d/gone", .cancelled), ("e", .failed)]).map { try stage.record($0.0, $0.1) }
        func found(_ action: UserAction, _ directory: RelativePath) -> [String] {
            let order = BulkAction(action: action, directory: directory, askedAt: WallTime(milliseconds: .max))
            return all.filter { stage.world.concerns(order, $0) }.map(\.path.description).sorted()
        }
        let directory = try #require(RelativePath("d"))
        #expect(found(.retry, directory) == ["d/cancelled", "d/failed", "d/rejected"])
        #expect(found(.cancel, directory) == ["d/failed"])
        #expect(found(.pause, directory) == [] && found(.resume, directory) == [])
        #expect(found(.retry, .root) == ["d/cancelled", "d/failed", "d/rejected"])
    }

    @Test("acts on a renamed file by its former id")
    mutating func formerName() throws {
        let record = try stage.add("new")
        let old = try #require(RelativePath("old"))
        var names = FormerNames()
        names.record(old, renamedTo: record.path)
        #expect(stage.world.paths(of: .file(id: FileReport.id(of: old)), names) == [record.path])
        #expect(stage.world.paths(of: .file(id: "0"), names) == nil)
        #expect(stage.world.paths(of: .upload(ContentKey(high: 9, low: 9)), names) == nil)
    }
}

@Suite("Reports of posts")
struct PostReportTests {
    private var stage: ReportStage

    init() throws { stage = try ReportStage() }

    private static let refused = FileError(code: "too_many_files", message: "51 files", retryable: false)
    private static let commit = SourceCommit(
        sourceID: "0123456789abcdef0123456789abcdef", revision: 1, title: "sea", cover: nil, fileIDs: ["7"],
        createdAt: WallTime(milliseconds: 0))

    @Test(
        "shows a held file as queued once its post is submitted, and names the reason if the post is rejected",
        arguments: [
            (.draft, .paused, nil), (.collecting, .queued, nil), (.uploading, .queued, nil),
            (.rejected(PostReportTests.refused), .paused, "source_rejected"),
            (.failed(PostReportTests.refused), .paused, nil),
        ] as [(SourceRecord.Stage, FileState, String?)])
    mutating func held(stage post: SourceRecord.Stage, state: FileState, code: String?) throws {
        _ = try stage.addPost(post)
        let record = try stage.add("sea/a.jpg")
        try stage.join(record, paused: true)
        let report = stage.world.report(of: record)
        #expect(report.state == state)
        #expect(report.error?.code == code)
        #expect(report.source == Self.commit.sourceID)
    }

    @Test("shows a held file as paused if the user paused file or post")
    mutating func paused() throws {
        _ = try stage.addPost(.uploading, isPaused: true)
        let record = try stage.add("sea/a.jpg")
        try stage.join(record, paused: true)
        #expect(stage.world.report(of: record).state == .paused)
        var other = try ReportStage()
        _ = try other.addPost(.uploading)
        let single = try other.add("sea/a.jpg", .paused)
        try other.join(single, paused: true)
        #expect(other.world.report(of: single).state == .paused)
    }

    @Test("does not count another account's file to a post")
    mutating func otherAccount() throws {
        _ = try stage.addPost(.uploading)
        let record = try stage.add("sea/a.jpg", account: "anna")
        #expect(stage.world.report(of: record).source == nil)
    }

    @Test("shows the state of the commit once the server has all files")
    mutating func committing() throws {
        let directory = try stage.addPost(.committing(Self.commit))
        func state(_ stage: ReportStage) -> SourceState? { stage.world.report(ofPost: directory)?.state }
        #expect(state(stage) == .file(.verifying))
        for case .commit(let id, _) in stage.handle(.commit(Self.commit, forgotten: 0)) {
            #expect(state(stage) == .file(.verifying))
            let busy = FileError(code: "server_error", message: "503", retryable: true)
            stage.handle(.commitFailed(id, .temporary(busy)))
            #expect(stage.world.report(ofPost: directory)?.error == busy)
            #expect(stage.world.report(ofPost: directory)?.nextAttemptAt != nil)
        }
        #expect(state(stage) == .file(.waiting))
        stage.handle(.setSignedOut(Self.refused))
        #expect(state(stage) == .file(.signedOut))
        stage.handle(.setAllPaused(true))
        #expect(state(stage) == .file(.paused))
        stage.own("anna")
        #expect(stage.world.report(ofPost: directory)?.error?.code == "other_account")
    }

    @Test("leaves a draft alone while everything is paused or nobody is signed in")
    mutating func draft() throws {
        let directory = try stage.addPost(.draft)
        stage.handle(.setAllPaused(true))
        stage.own("anna")
        #expect(stage.world.report(ofPost: directory)?.state == .draft)
    }

    @Test("names the files of a moved post by their new paths")
    mutating func moved() async throws {
        let directory = try stage.addPost(.uploading)
        let target = try #require(RelativePath("Sent/sea/a.jpg"))
        var trace = try stage.record("sea/a.jpg", .done)
        trace.disposal = .movedAway(to: target)
        var record = try stage.record("Sent/sea/a.jpg", .done)
        record.disposal = .moved(from: trace.path)
        await stage.ledger.commit([.drop(trace), .drop(record)])
        let report = stage.world.report(ofPost: directory, movedTo: target.parent)
        #expect(report?.directory == target.parent)
        #expect(report?.files.map(\.path) == [target])
    }

    @Test("counts fragments of 512 KiB, also of an upload that was sent in larger parts")
    mutating func largeParts() throws {
        let done = stage.world.report(of: try stage.record("a", .done))
        #expect(done.fragments == .init(total: 2, finished: 2))
        let record = try stage.add("b", .queued, account: "anna")
        stage.core.parked.add(record, of: "anna")
        let plan = FragmentPlan(size: 20 << 20, fragmentSize: 5 << 20)
        let upload = UploadRecord(
            key: try #require(record.key), seal: ContentSeal(size: 20 << 20, digest: 1), plan: plan,
            scope: RemoteScope("s3 http://127.0.0.1 anna"), order: 1)
        _ = stage.core.parked.add(ParkedUploads.Entry(record: upload, acknowledged: FragmentSet(prefix: 1)))
        let report = stage.world.report(of: record)
        #expect(report.fragments == .init(total: 40, finished: 10))
        #expect(report.progress == 0.25)
    }
}
