import Clocks
import AgentTestSupport
import Digests
import Foundation
import Intake
import Ledger
import LinuxSystem
import Logging
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import Remotes

@Suite("Request runner")
struct RequestRunnerTests {
    private let place: TemporaryDirectory
    private let thread = SerialThread(name: "requests")
    private let remote: ScriptedRemote
    private let clock = HandClock()
    private let news = News()
    private let files: OutboxFiles
    private let runner: RequestRunner
    private let key = ContentKey(high: 1, low: 1)

    init() throws {
        place = try TemporaryDirectory()
        remote = ScriptedRemote(executor: thread)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let ledger = try Ledger(directory: place.path("state"), logger: logger, onTrouble: { _ in })
        files = OutboxFiles(root: place.path)
        runner = RequestRunner(
            RequestRunner.Parts(
                remote: remote, sources: nil, files: files, ledger: ledger,
                secret: try #require(DigestSecret(try ledger.digestSecret())), clock: clock)
        ) { [news] in news.add($0) }
    }

    /// The reports of the requests.
    private final class News: Sendable {
        private let list = Mutex<[RequestRunner.News]>([])
        func add(_ news: RequestRunner.News) { list.withLock { $0.append(news) } }

        /// Waits for the end of a request and returns its events.
        func end() async throws -> [MachineEvent] {
            let found = Mutex<[MachineEvent]>([])
            try await Poll.until("a request ends") {
                guard case .ended(_, let events, _)? = self.list.withLock({ $0.first }) else { return false }
                found.withLock { $0 = events }
                return true
            }
            list.withLock { _ = $0.removeFirst() }
            return found.withLock { $0 }
        }
    }

    /// Returns an upload machine with paths that wait for one content.
    private func uploads(_ names: [String], identities: [FileIdentity?] = []) throws -> UploadFacts {
        var machine = machine()
        var active = PathMap<DropRecord>()
        for (index, name) in names.enumerated() {
            let path = try #require(RelativePath(name))
            let content = DropContent(key: key, seal: ContentSeal(size: 3, digest: 7))
            _ = machine.handle([.join(path, content, paused: false)], now: clock.now)
            var record = DropRecord(path: path, state: .queued, acceptedAt: clock.now.wall)
            record.key = key
            record.identity = index < identities.count ? identities[index] : nil
            active[path] = record
        }
        return UploadFacts(machine: machine, active: active)
    }

    private func machine() -> UploadMachine {
        let limits = UploadLimits(filesInFlight: 2, fragmentsInFlight: 2, retryInterval: .seconds(120))
        return UploadMachine(limits: limits, traits: remote.traits, scope: remote.scope, seed: 1, window: 100)
    }

    private func write(_ name: String) throws -> FileIdentity {
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: place.path(name)))
        return FileIdentity(try files.status(of: try #require(RelativePath(name))))
    }

    @Test("registers the uploads that still exist, under the name of their first path, and cancels the others")
    func register() async throws {
        let other = ContentKey(high: 2, low: 2)
        let uploads = try uploads(["b.jpg", "a.jpg"])
        #expect(runner.perform(.register(1, [other, key]), uploads) == [])
        #expect(runner.count == 1)
        let events = try await news.end()
        #expect(events == [.registered(1, key, RemoteHandle(id: "1"), .asRecorded), .failed(1, other, .cancelled)])
        #expect(remote.descriptions.map(\.path.description) == ["a.jpg"])
        #expect(runner.end(1, events, uploads) == [])
        #expect(runner.count == 0)
    }

    @Test("doubts that the server has a content whose assembly failed")
    func doubts() throws {
        var machine = machine()
        let path = try #require(RelativePath("a.jpg"))
        let seal = ContentSeal(size: 3, digest: 7)
        var record = UploadRecord(
            key: key, seal: seal, plan: remote.traits.plan(for: 3), scope: remote.scope, order: 1)
        record.assemblyFailures = 1
        machine.restore(
            record, acknowledged: FragmentSet(), receipts: [:],
            waiters: [RestoredWaiter(path: path, paused: false, joinedLater: false)], now: clock.now)
        var active = PathMap<DropRecord>()
        active[path] = DropRecord(path: path, state: .queued, acceptedAt: clock.now.wall)
        let uploads = UploadFacts(machine: machine, active: active)
        #expect(uploads.description(of: key)?.isDoubted == true)
        #expect(try self.uploads(["a.jpg"]).description(of: key)?.isDoubted == false)
    }

    @Test("asks for a proof of contents that were confirmed earlier, and whether others are finished")
    func proof() async throws {
        var machine = machine()
        let other = ContentKey(high: 2, low: 2)
        let seal = ContentSeal(size: 3, digest: 7)
        let path = try #require(RelativePath("old.jpg"))
        let actions = machine.handle(
            [
                .verify(path, DropContent(key: other, seal: seal), RemoteObject(id: "9", url: nil), paused: false)
            ], now: clock.now)
        #expect(actions.contains(.finish(1, [other])))
        _ = runner.perform(.finish(1, [other]), UploadFacts(machine: machine, active: PathMap()))
        let events = try await news.end()
        #expect(events == [.finished(1, other, .confirmed(RemoteObject(id: "9", url: nil)))])
        #expect(remote.proofs == [other])
        #expect(remote.questions.isEmpty)
    }

    @Test("runs requests on the executor of the remote")
    func executor() async throws {
        _ = runner.perform(.remove(1, [RemoteHandle(id: "x")]), try uploads([]))
        _ = try await news.end()
        #expect(remote.executors == [thread.asUnownedTaskExecutor()])
    }

    @Test("answers at once for an upload without an id")
    func withoutID() throws {
        let uploads = try uploads(["a.jpg"])
        #expect(runner.perform(.resume(1, key), uploads) == [.failed(1, key, .cancelled)])
        #expect(runner.perform(.send(2, key, fragment: 0, skip: 0), uploads) == [.failed(2, key, .cancelled)])
        #expect(runner.count == 0)
    }

    @Test("confirms a post at once if the protocol has no posts")
    func commit() throws {
        let commit = SourceCommit(
            sourceID: "s", revision: 1, title: "", cover: nil, fileIDs: [], createdAt: clock.now.wall)
        #expect(runner.perform(.commit(1, commit), try uploads([])) == [.committed(1, .done(url: nil))])
    }

    @Test("measures a fragment once, though peer and server both acknowledge it")
    func speed() async throws {
        let uploads = try uploads(["a.jpg"])
        _ = runner.perform(.remove(1, [RemoteHandle(id: "x")]), uploads)
        let end: [MachineEvent] = [.acknowledged(1, key, fragment: 0, receipt: nil, took: .seconds(1))]
        #expect(runner.end(1, end, uploads) == [3])
        clock.advance(by: .seconds(1))
        let now = clock.now.monotonic
        #expect(runner.figures.bytesPerSecond(of: key, at: now) == 3)
        #expect(runner.figures.bytesPerSecond(at: now) == 3)
        runner.forget(key)
        #expect(runner.figures.bytesPerSecond(of: key, at: now) == nil)
    }

    @Test("ignores progress of a request that ended")
    func lateProgress() throws {
        #expect(runner.reach(10, by: 7) == nil)
    }

    // MARK: Open files

    @Test("reads a content through the first of its paths that opens")
    func firstPath() throws {
        let identity = try write("b.jpg")
        var open = OpenFiles(files: files)
        let source = try open.source(of: key, try uploads(["a.jpg", "b.jpg"], identities: [identity, identity]))
        #expect(source.path.description == "b.jpg")
        #expect(open.isOpen(key))
        open.close(key, at: try #require(RelativePath("a.jpg")))
        #expect(open.isOpen(key))
        open.close(key, at: source.path)
        #expect(!open.isOpen(key))
    }

    @Test("reports a changed file at once, and a missing one if no other path serves")
    func problems() throws {
        let identity = try write("b.jpg")
        var open = OpenFiles(files: files)
        let changed = try uploads(["b.jpg", "c.jpg"], identities: [nil, identity])
        let paths = try ["a.jpg", "b.jpg"].map { try #require(RelativePath($0)) }
        #expect(throws: SourceProblem(path: paths[1], kind: .changed)) { try open.source(of: key, changed) }
        let missing = try uploads(["a.jpg"], identities: [identity])
        #expect(throws: SourceProblem(path: paths[0], kind: .missing)) { try open.source(of: key, missing) }
    }
}
