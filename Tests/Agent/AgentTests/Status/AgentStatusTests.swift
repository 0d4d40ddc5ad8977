import AgentTestSupport
import Reports
import Testing
import UploadCore

@testable import Agent
@testable import ControlAPI
@testable import FileWatch

@Suite("Agent status")
struct AgentStatusTests {
    private let events: EventHub
    private var status: AgentStatus

    init() {
        events = EventHub(clock: HandClock(), ledger: "ledger", outcome: 0)
        status = AgentStatus(
            version: "1.2", processID: 7, startedAt: MonotonicTime(nanoseconds: 0), events: events)
    }

    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    @Test("lists problems in the order of their codes")
    mutating func problems() {
        status.problems[.watch] = "too many directories"
        status.problems[.afterUpload] = "a.jpg can't be moved"
        #expect(status.health(.init(), at: at(3)).problems == ["a.jpg can't be moved", "too many directories"])
        #expect(status.metrics(.init(), at: at(3)).problems == ["after_upload", "watch"])
        status.problems[.watch] = nil
        #expect(status.line(.init()) == "a.jpg can't be moved; nothing to do")
    }

    @Test("says since when each problem lasts, and how long the rest takes")
    mutating func attention() {
        status.problems[.server] = "no connection"
        status.problems[.server] = "no route"
        var figures = AgentStatus.Figures(bytesPerSecond: 100, left: (5000, 2))
        figures.add(resting: [.queued: 3, .done: 7])
        let health = status.health(figures, at: at(3))
        #expect(health.attention?.map(\.code) == ["server"])
        #expect(health.attention?.first?.message == "no route")
        #expect(health.attention?.first?.since.hasSuffix("Z") == true)
        #expect(health.left == 12_500 && health.speed == 100 && health.eta == 125)
        status.problems[.server] = nil
        #expect(status.health(.init(), at: at(3)).attention == [])
        #expect(status.health(.init(), at: at(3)).eta == nil)
    }

    @Test("publishes a problem when its message changes, and when it is solved")
    mutating func publishing() {
        let reader = events.reader(heartbeat: .seconds(60))
        status.problems[.outbox] = "it is gone"
        status.problems[.outbox] = "it is gone"
        status.problems[.outbox] = nil
        let expected: [EventHub.Content] = [
            .problem(code: "outbox", message: "it is gone"), .problem(code: "outbox", message: nil),
        ]
        #expect(reader.take().events.map(\.content) == expected)
    }

    @Test("counts only paths in final states in its health")
    func counts() {
        #expect(status.health(.init(files: [.done: 3, .queued: 9]), at: at(6)).files == ["done": 3])
    }

    @Test("counts directories with files that the watch defers")
    func deferred() {
        var figures = AgentStatus.Figures()
        #expect(status.health(figures, at: at(6)).deferred == 0)
        figures.watch.deferred = 12
        #expect(status.health(figures, at: at(6)).deferred == 12)
    }

    @Test("counts paths that wait in the backlog as active, with an upload each")
    func resting() {
        var figures = AgentStatus.Figures(files: [.queued: 1, .settling: 1], active: 2, uploads: 1)
        figures.add(resting: [.queued: 5, .done: 3])
        #expect(figures.files == [.queued: 6, .settling: 1, .done: 3])
        #expect(figures.active == 7)
        #expect(figures.uploads == 6)
    }

    @Test("counts the ledger's troubles, but not their end")
    mutating func ledger() {
        status.recordLedgerTrouble("no space; make room")
        #expect(status.problems[.ledger] == "no space; make room")
        status.recordLedgerTrouble(nil)
        #expect(status.problems[.ledger] == nil)
        #expect(status.metrics(.init(), at: at(3)).ledgerCommitTroubles == 1)
    }

    @Test("reports how long it has been running")
    func uptime() {
        #expect(status.health(.init(), at: at(61)).uptime == 61)
        #expect(status.metrics(.init(), at: at(61)).uptime == .seconds(61))
    }
}

@Suite("Former names")
struct FormerNamesTests {
    @Test("follow a chain of renames to the name that exists")
    func chain() throws {
        let paths = try ["a", "b", "c"].map { try #require(RelativePath($0)) }
        var names = FormerNames()
        names.record(paths[0], renamedTo: paths[1])
        names.record(paths[1], renamedTo: paths[2])
        #expect(names.path(withFormerID: FileReport.id(of: paths[0])) { $0 == paths[2] } == paths[2])
        #expect(names.path(withFormerID: FileReport.id(of: paths[2])) { _ in true } == nil)
    }

    @Test("lead nowhere if files swapped names and none exists")
    func circle() throws {
        let paths = try ["a", "b"].map { try #require(RelativePath($0)) }
        var names = FormerNames()
        names.record(paths[0], renamedTo: paths[1])
        names.record(paths[1], renamedTo: paths[0])
        #expect(names.path(withFormerID: FileReport.id(of: paths[0])) { _ in false } == nil)
    }
}
