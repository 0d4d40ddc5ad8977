import Portrait
import Synchronization
import Testing

@testable import Agent
@testable import UploadCore

@Suite("Portrait desk")
struct PortraitDeskTests {
    /// Records what the service receives.
    private final class Service: PortraitSending {
        private let state = Mutex<(events: [PortraitMachine.Event], credentials: Int)>(([], 0))

        var events: [PortraitMachine.Event] { state.withLock { $0.events } }
        var credentials: Int { state.withLock { $0.credentials } }

        func start(_ outlets: PortraitOutlets, isAllPaused: Bool) {}
        func handle(_ event: PortraitMachine.Event) { state.withLock { $0.events.append(event) } }
        func credentialsChanged() { state.withLock { $0.credentials += 1 } }
        func stop() async {}
    }

    private let service = Service()
    private var desk: PortraitDesk
    private var book: PathBook
    private let key = ContentKey(high: 1, low: 1)
    private let old: RelativePath
    private let new: RelativePath

    init() throws {
        desk = PortraitDesk(service)
        let folder = try #require(RelativePath("portrait"))
        book = PathBook(rules: PathBook.Rules(portraitFolder: folder, retention: .seconds(1)))
        old = try #require(RelativePath("portrait/a.jpg"))
        new = try #require(RelativePath("portrait/b.jpg"))
    }

    private func record(_ path: RelativePath, _ state: FileState = .queued) -> DropRecord {
        var record = DropRecord(path: path, state: state, acceptedAt: WallTime(milliseconds: 5))
        record.key = key
        record.identity = FileIdentity(device: 1, inode: 7, size: 3, modified: 1, changed: 1, born: 1)
        return record
    }

    private func drop(_ record: DropRecord) throws -> PortraitDrop {
        PortraitDrop(
            path: record.path, key: key, identity: try #require(record.identity), type: .other,
            acceptedAt: record.acceptedAt, isPaused: record.state == .paused)
    }

    @Test("passes each decision of the path book to the service")
    func decisions() {
        let steps: [PortraitStep] = [
            .removed(old, key), .cancelled(old, key), .renamed(old, to: new), .setPaused(old, true), .retry(old),
            .forgetReport(old),
        ]
        for step in steps { desk.perform(step, book) }
        #expect(
            service.events == [
                .takenBack(old, key, PortraitMachine.removed), .takenBack(old, key, .cancelledByUser),
                .renamed(old, new), .paused(old, true), .retried(old),
            ])
    }

    @Test("hands over a picture under its present name and state, and none that ended")
    mutating func handOver() throws {
        let handed = record(old)
        _ = book.keep(record(new, .paused))
        desk.perform(.handOver([handed], job: 4), book)
        desk.perform(.handOver([handed], job: nil), book)
        let moved = try drop(record(new, .paused))
        #expect(service.events == [.dropped(moved, .arrived(4)), .dropped(moved, .found)])
        _ = book.keep(record(new, .done))
        desk.perform(.handOver([handed], job: 5), book)
        #expect(service.events.count == 2)
    }

    @Test("passes on news that concern every request, and no others")
    func news() {
        let limits = UploadLimits(filesInFlight: 1, fragmentsInFlight: 1, retryInterval: .seconds(7))
        let news: [MachineEvent] = [
            .setAllPaused(true), .tick, .setLimits(limits), .networkChanged, .leave(old, key), .credentialsChanged,
        ]
        for event in news { desk.pass(event) }
        #expect(service.events == [.allPaused(true), .setRetryInterval(.seconds(7)), .networkChanged])
        #expect(service.credentials == 1)
    }

    @Test("keeps the last report of a picture until it ends, also under a new name")
    mutating func reports() throws {
        var report = PortraitReport(path: old, key: key, state: .waiting)
        let event = desk.take(report, record(old), book)
        guard case .portrait(old, key, .handedOver)? = event else {
            Issue.record("\(String(describing: event))")
            return
        }
        #expect(desk.reports[old] == report)
        desk.prepare(.renamed(old, to: new))
        #expect(desk.reports[old] == nil)
        #expect(desk.reports[new] == report)
        report.path = new
        report.state = .done
        report.remoteURL = "http://x/1"
        let end = desk.take(report, record(new), book)
        guard case .portrait(new, key, .ended(.done, nil, attempts: 0, _, _, url: "http://x/1"))? = end else {
            Issue.record("\(String(describing: end))")
            return
        }
        #expect(desk.reports[new] == nil)
    }

    @Test("forgets the report of another file")
    mutating func forgotten() {
        _ = desk.take(PortraitReport(path: old, key: key, state: .queued), record(old), book)
        desk.prepare(.forgetReport(old))
        #expect(desk.reports[old] == nil)
    }

    @Test("ignores reports about other contents, ended drops and other folders")
    mutating func outdated() throws {
        let other = ContentKey(high: 2, low: 2)
        let elsewhere = try #require(RelativePath("a.jpg"))
        let events = [
            desk.take(PortraitReport(path: old, key: other, state: .queued), record(old), book),
            desk.take(PortraitReport(path: old, key: key, state: .queued), record(old, .done), book),
            desk.take(PortraitReport(path: old, key: key, state: .queued), nil, book),
            desk.take(PortraitReport(path: elsewhere, key: key, state: .queued), record(elsewhere), book),
        ]
        #expect(events.allSatisfy { $0 == nil })
        #expect(desk.reports[old] == nil)
    }

    @Test("does nothing without a service")
    mutating func absent() {
        desk = PortraitDesk(nil)
        desk.perform(.retry(old), book)
        desk.pass(.networkChanged)
        #expect(service.events == [])
    }
}
