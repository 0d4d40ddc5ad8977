import Testing
import UploadCore

/// Returns the commit of a revision.
func post(_ source: String = "s", revision: Int = 1, created: Int64 = 0) -> SourceCommit {
    SourceCommit(
        sourceID: source, revision: revision, title: "Walk", cover: "1", fileIDs: ["1", "2"],
        createdAt: WallTime(milliseconds: created))
}

/// The effect of a failure on a commit.
private struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var failure: RemoteFailure
    /// The state afterwards; nil if the commit ended.
    var state: FileState?
    /// The latest time of the next attempt, in milliseconds; nil if no deadline triggers the attempt.
    var next: Int?
    var testDescription: String { name }

    static let all = [
        Case(name: "busy", failure: .busy, state: .waiting, next: 1_000),
        Case(
            name: "busy, later", failure: .temporary(.busy, retryAfter: .seconds(300)), state: .waiting, next: 300_000),
        Case(name: "full", failure: .temporary(.busy, outlook: .lasting), state: .waiting, next: 120_000),
        Case(name: "given up", failure: .cancelled, state: .waiting, next: 1_000),
        Case(name: "of a file", failure: .source("a", .changed), state: .waiting, next: 1_000),
        Case(name: "unauthorized", failure: .unauthorized, state: .signedOut, next: 120_000),
        Case(name: "refused", failure: .refused),
        Case(name: "forgotten", failure: .forgotten),
    ]
}

@Suite("Commits of sources")
struct CommitTests {
    @Test("end with the server's answer")
    func done() {
        var bench = Bench()
        #expect(bench.tell(.commit(post(), forgotten: 0)).contains(.commitChanged("s")))
        #expect(bench.underWay.map(\.commit) == [post()])
        #expect(bench.machine.commitView(of: "s")?.state == .verifying)
        bench.answer(.commit)
        #expect(bench.commits == [.init(source: "s", revision: 1, outcome: .done(url: "http://x/post"))])
        #expect(bench.machine.commitView(of: "s") == nil)
        #expect(bench.machine.nextDeadline(after: bench.now.monotonic) == nil)
    }

    @Test("can continue after every failure", arguments: Case.all)
    private func failures(it: Case) throws {
        var bench = Bench()
        bench.tell(.commit(post(), forgotten: 0))
        bench.answer(.commit, .failure(it.failure))
        #expect(bench.machine.commitView(of: "s")?.state == it.state)
        let start = bench.now.monotonic
        if let next = it.next {
            #expect(bench.underWay.isEmpty)
            bench.run(for: .milliseconds(next / 2)) { _ in .success }
            #expect(bench.commits.isEmpty)
            bench.run { _ in .success }
            #expect(try #require(bench.begun.last).at - start <= .milliseconds(next + 2))
            #expect(bench.commits.map(\.outcome) == [.done(url: "http://x/post")])
            #expect(bench.begun.map(\.commit) == [post(), post()])
        } else {
            #expect(bench.commits.count == 1)
            #expect(bench.machine.nextDeadline(after: start) == nil)
        }
        #expect(bench.trouble.last.flatMap(\.self) == nil)
    }

    @Test("distinguish a refusal from forgotten files")
    func outcomes() {
        var bench = Bench()
        bench.tell(.commit(post("a"), forgotten: 0), .commit(post("b"), forgotten: 0))
        bench.answer(.commit, .failure(.refused))
        bench.answer(.commit, .failure(.forgotten))
        #expect(bench.commits.first?.outcome == .refused(.refused))
        guard case .forgotten(let error) = bench.commits.last?.outcome else {
            Issue.record("not forgotten")
            return
        }
        #expect(error.code == "forgotten")
    }

    @Test("retry without end, with pauses that double up to the ceiling")
    func backoff() {
        var bench = Bench()
        bench.tell(.commit(post(), forgotten: 0))
        for failure in 0..<20 {
            bench.answer(.commit, .failure(.busy))
            let start = bench.now.monotonic
            while !bench.kinds.contains(.commit), let next = bench.machine.nextDeadline(after: bench.now.monotonic) {
                bench.pass(next - bench.now.monotonic)
            }
            let full = min(Duration.seconds(1 << failure), .seconds(120))
            let pause = bench.now.monotonic - start
            #expect(pause <= full + .milliseconds(2) && pause >= full * 3 / 4)
        }
    }

    @Test("wait longer each time the server forgot the files", arguments: [1: 1, 3: 4, 9: 120])
    func forgotten(times: Int, seconds: Int) {
        var bench = Bench()
        bench.tell(.commit(post(), forgotten: times))
        #expect(bench.underWay.isEmpty)
        #expect(bench.machine.commitView(of: "s")?.state == .waiting)
        #expect(bench.machine.commitView(of: "s")?.nextAttemptAt != nil)
        bench.pass(.seconds(seconds) * 3 / 4 - .milliseconds(2))
        #expect(bench.underWay.isEmpty)
        bench.pass(.seconds(seconds) / 4 + .milliseconds(4))
        #expect(bench.kinds == [.commit])
    }

    @Test("end when withdrawn, and a late answer is ignored")
    func withdrawn() {
        var bench = Bench()
        bench.tell(.commit(post(), forgotten: 0))
        let request = bench.underWay[0]
        bench.tell(.withdrawCommit("s"))
        #expect(bench.cancelled == [request.id])
        #expect(bench.machine.commitView(of: "s") == nil)
        bench.tell(.committed(request.id, .done(url: nil)), .commitFailed(request.id, .refused))
        #expect(bench.commits.isEmpty)
    }

    @Test("report no server trouble after the refused commit is withdrawn")
    func withdrawnInTrouble() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: true), .commit(post(), forgotten: 0))
        bench.answer(.commit, .failure(.cancelled))
        #expect(bench.trouble.count == 1)
        bench.tell(.withdrawCommit("s"))
        #expect(bench.trouble.last == .some(nil))
        #expect(bench.machine.nextDeadline(after: bench.now.monotonic) == nil)
    }

    @Test("of a later revision replace an earlier one")
    func replaced() {
        var bench = Bench()
        bench.tell(.commit(post(), forgotten: 0))
        let first = bench.underWay[0].id
        bench.tell(.commit(post(revision: 2), forgotten: 0))
        #expect(bench.cancelled == [first])
        bench.tell(.committed(first, .done(url: nil)))
        #expect(bench.commits.isEmpty)
        bench.answer(.commit)
        #expect(bench.commits.map(\.revision) == [2])
    }

    @Test("are sent once if requested twice")
    func twice() {
        var bench = Bench()
        bench.tell(.commit(post(), forgotten: 0))
        bench.tell(.commit(post(), forgotten: 0))
        #expect(bench.begun.count == 1)
    }

    @Test("run at most as many at once as files, the oldest source first")
    func limit() {
        var bench = Bench(files: 2)
        bench.tell((1...5).map { .commit(post("s\($0)", created: 10 - $0), forgotten: 0) })
        #expect(bench.underWay.compactMap(\.commit?.sourceID) == ["s5", "s4"])
        bench.run()
        #expect(bench.commits.map(\.source) == ["s5", "s4", "s3", "s2", "s1"])
    }

    @Test("wait while everything is paused")
    func paused() {
        var bench = Bench()
        bench.tell(.setAllPaused(true), .commit(post(), forgotten: 0))
        #expect(bench.underWay.isEmpty)
        #expect(bench.machine.commitView(of: "s")?.state == .paused)
        bench.tell(.setAllPaused(false))
        #expect(bench.kinds == [.commit])
    }

    @Test("are sent at once on a retry or when the cause may be gone")
    func hurried() {
        for event in [MachineEvent.retryCommit("s"), .networkChanged, .credentialsChanged] {
            var bench = Bench()
            bench.tell(.commit(post(), forgotten: 0))
            bench.answer(.commit, .failure(.temporary(.busy, retryAfter: .seconds(300))))
            bench.tell(event)
            #expect(bench.kinds == [.commit])
        }
    }

    @Test("use new credentials at once, and ignore a late refusal of old ones")
    func credentials() {
        var bench = Bench()
        bench.tell(.commit(post(), forgotten: 0))
        let old = bench.underWay[0]
        bench.tell(.credentialsChanged)
        bench.tell(.commitFailed(old.id, .unauthorized))
        #expect(bench.kinds == [.commit])
        #expect(bench.machine.commitView(of: "s")?.error == nil)
    }

    @Test("that fail delay others no longer than a failing server does")
    func othersGoOn() {
        var bench = Bench()
        bench.tell(joins(1...5) + [.commit(post(), forgotten: 0)])
        bench.run(for: .seconds(600)) { $0.kind == .commit ? .failure(.busy) : .success }
        #expect(bench.outcomes.count == 5)
        #expect(bench.commits.isEmpty)
    }

    @Test("are cancelled by a stop, and repeated unchanged after a restart")
    func restart() {
        var bench = Bench()
        bench.tell(.commit(post(), forgotten: 0))
        let id = bench.underWay[0].id
        bench.tell(.stop)
        #expect(bench.cancelled == [id])
        bench.tell(.commitFailed(id, .cancelled))
        #expect(bench.commits.isEmpty)
        var later = bench.restarted([:])
        later.tell(.commit(post(), forgotten: 0))
        #expect(later.underWay.map(\.commit) == [post()])
    }

    @Test("delete each discarded id once, also after restarts")
    func discarded() {
        var bench = Bench()
        bench.tell(.discard(["x", "y", "x"].map { RemoteHandle(id: $0) }))
        #expect(bench.underWay.map(\.names) == [["x", "y"]])
        bench.tell(.discard([RemoteHandle(id: "y")]))
        #expect(bench.ledger.removals.map(\.id) == ["x", "y"])
        var later = bench.restarted([:])
        later.tell(.tick)
        later.answer(.remove)
        #expect(later.ledger.removals.isEmpty)
    }

    @Test("keep a discarded id that the server issues again")
    func keptAgain() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.tell(.discard(["x", "y"].map { RemoteHandle(id: $0) }))
        bench.answer(.register, .registered("x", .asRecorded))
        bench.answer(.remove)
        #expect(bench.begun.filter { $0.kind == .remove }.map(\.names) == [["x", "y"], ["y"]])
        #expect(bench.ledger.removals.isEmpty)
    }
}
