import Testing
import UploadCore

/// The effect of a failure on its upload.
private struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var failure: RemoteFailure
    /// The state of the path afterwards; nil for an upload that ended, as failed or for another hash.
    var states: [Begun.Kind: FileState]
    var ends: Set<Begun.Kind> = []
    /// The latest time of the next attempt, in milliseconds; nil if no deadline triggers the attempt.
    var next: Int?

    var testDescription: String { name }

    init(
        _ name: String, _ failure: RemoteFailure, _ states: [Begun.Kind: FileState] = [:], ends: Set<Begun.Kind> = [],
        next: Int? = nil
    ) {
        self.name = name
        self.failure = failure
        self.states = states
        self.ends = ends
        self.next = next
    }

    static let all = [
        Case("busy", .busy, [.register: .waiting, .send: .waiting, .finish: .waiting], next: 1_000),
        Case(
            "busy, later", .temporary(.busy, retryAfter: .seconds(300)),
            [.register: .waiting, .send: .waiting, .finish: .waiting], next: 300_000),
        Case(
            "full", .temporary(.busy, outlook: .lasting), [.register: .waiting, .send: .waiting, .finish: .waiting],
            next: 120_000),
        Case("out of step", .outOfStep(.busy), [.register: .waiting, .send: .waiting, .finish: .waiting], next: 1_000),
        Case(
            "busy upload", .busyUpload(.busy), [.register: .waiting, .send: .waiting, .finish: .waiting], next: 1_000),
        Case(
            "busy upload, later", .busyUpload(.busy, retryAfter: .seconds(300)),
            [.register: .waiting, .send: .waiting, .finish: .waiting], next: 300_000),
        Case("unauthorized", .unauthorized, [.register: .signedOut, .send: .signedOut, .finish: .signedOut]),
        Case("forgotten", .forgotten, [.register: .queued, .send: .queued, .finish: .queued]),
        Case("refused", .refused, ends: [.register, .send, .finish]),
        Case("changed", .source("a", .changed), ends: [.send]),
        Case("missing", .source("a", .missing), [.send: .waiting], next: 1_000),
        Case("unreadable", .source("a", .unreadable(.refused)), ends: [.send]),
        Case("unreadable now", .source("a", .unreadable(.busy)), [.send: .waiting], next: 1_000),
        Case("given up", .cancelled, [.register: .waiting, .send: .waiting, .finish: .waiting], next: 1_000),
    ]
}

@Suite("Every failure of every kind of request")
struct FailureTableTests {
    @Test("leaves the upload able to continue", arguments: Case.all, [Begun.Kind.register, .send, .finish])
    private func outcome(of it: Case, on kind: Begun.Kind) throws {
        guard it.states[kind] != nil || it.ends.contains(kind) else { return }
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        if kind != .register { bench.answer(.register) }
        if kind == .finish { bench.answer(.send) }
        bench.answer(kind, .failure(it.failure))
        #expect(bench.state() == it.states[kind])
        let start = bench.now.monotonic
        if let next = it.next {
            // The gate may let other uploads through earlier.
            while bench.underWay.isEmpty, let next = bench.machine.nextDeadline(after: bench.now.monotonic) {
                bench.pass(next - bench.now.monotonic)
            }
            let due = bench.now.monotonic - start
            #expect(due <= .milliseconds(next) && due > .milliseconds(next / 2))
        }
        // After any failure, all uploads end once the server has recovered.
        bench.tell(.credentialsChanged)
        bench.run()
        #expect(bench.machine.keys.isEmpty)
        #expect(bench.ledger.uploads.isEmpty && bench.ledger.removals.isEmpty)
    }

    @Test(
        "a failure that concerns one upload closes no gate",
        arguments: [RemoteFailure.outOfStep(.busy), .busyUpload(.busy), .busyUpload(.busy, retryAfter: .seconds(300))],
        [RemoteTraits.fileSection, .tus, .s3])
    func ownFault(failure: RemoteFailure, traits: RemoteTraits) {
        var bench = Bench(traits)
        bench.tell(.join("a", content(1, fragments: 3), paused: false))
        bench.tell(.join("b", content(2, fragments: 3), paused: false))
        let one = content(1).key
        bench.run(for: .seconds(200)) { request in
            request.keys == [one] && request.kind != .register ? .failure(failure) : .success
        }
        #expect(bench.outcomes.keys.sorted() == ["b"])
        #expect(bench.trouble.isEmpty)
        // The pauses grow, whatever the server answers in between.
        #expect(bench.begun.count { $0.keys == [one] } < 40)
        bench.run()
        #expect(bench.machine.keys.isEmpty)
    }

    @Test(
        "a question without an answer concerns the upload alone if the server answered others meanwhile",
        arguments: [false, true])
    func silent(answersOthers: Bool) {
        var bench = Bench(.tus, files: 2)
        for name in ["a", "b"] as [RelativePath] {
            bench.tell(.join(name, content(name == "a" ? 1 : 2, fragments: 3), paused: false))
            bench.answer(.register)
        }
        bench.answer(.send, .failure(.outOfStep(.busy)))
        #expect(bench.kinds == [.send, .resume])
        bench.pass(.seconds(1))
        if answersOthers { bench.answer(.send) }
        bench.answer(.resume, .failure(.temporary(.busy, outlook: .silent)))
        #expect(bench.state() == .waiting)
        #expect(bench.trouble.isEmpty == answersOthers)
    }

    @Test("a busy deletion holds back only deletions")
    func busyDeletion() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register)
        bench.tell(.leave("a", content(1).key))
        bench.answer(.remove, .failure(.busyUpload(.busy, retryAfter: .seconds(60))))
        bench.tell(.join("b", content(2), paused: false))
        #expect(bench.kinds == [.register])
        bench.answer(.register)
        #expect(bench.kinds == [.send])
        bench.pass(.seconds(60))
        #expect(bench.kinds == [.send, .remove])
    }

    @Test("a file that the server forgets at every finish request is sent again without end, with pauses")
    func forgottenEachTime() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        for time in 1...20 {
            bench.answer(.register)
            bench.answer(.send)
            bench.answer(.finish, .failure(.forgotten))
            guard time > 1 else { continue }
            #expect(bench.state() == .waiting, "forgotten \(time) times")
            #expect(bench.underWay.isEmpty)
            bench.pass(.seconds(120))
        }
        bench.run()
        guard case .done = bench.outcomes["a"] else {
            Issue.record("\(String(describing: bench.outcomes["a"]))")
            return
        }
    }

    @Test(
        "a failed deletion is retried until it succeeds or is refused",
        arguments: [RemoteFailure.busy, .cancelled, .unauthorized, .outOfStep(.busy), .busyUpload(.busy)])
    func deletion(failure: RemoteFailure) {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register)
        bench.tell(.leave("a", content(1).key))
        #expect(bench.ledger.removals.count == 1)
        for _ in 0..<3 {
            bench.answer(.remove, .failure(failure))
            #expect(bench.underWay.isEmpty)
            bench.pass(.seconds(120))
        }
        #expect(bench.ledger.removals.count == 1)
        bench.answer(.remove, .success)
        #expect(bench.ledger.removals.isEmpty)
    }

    @Test("a refused deletion is not retried", arguments: [RemoteFailure.refused, .forgotten])
    func refusedDeletion(failure: RemoteFailure) {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register)
        bench.tell(.leave("a", content(1).key))
        bench.answer(.remove, .failure(failure))
        #expect(bench.ledger.removals.isEmpty)
        #expect(bench.machine.nextDeadline(after: bench.now.monotonic) == nil)
    }
}
