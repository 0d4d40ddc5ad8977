import Testing
import UploadCore

@Suite("While the user is signed out")
struct SignOutTests {
    private static let reason = FileError(code: "signed_out", message: "nobody is signed in", retryable: true)

    /// Returns a machine with requests of every kind under way or waiting.
    private func busy(_ traits: RemoteTraits = .fileSection) -> Bench {
        var bench = Bench(traits, files: 2, fragments: 2)
        bench.tell(joins(1...2, fragments: 4))
        bench.answer(.register)
        if traits.batch == 1 { bench.answer(.register) }
        bench.answer(.send)
        bench.tell(joins(3...4) + [.commit(post(), forgotten: 0), .discard([RemoteHandle(id: "x")])])
        bench.tell(joins(9...9, paused: true))
        return bench
    }

    @Test("nothing is sent, not even to probe or to delete", arguments: [RemoteTraits.fileSection, .tus, .s3])
    func silence(traits: RemoteTraits) {
        var bench = busy(traits)
        let underWay = bench.underWay.map(\.id).sorted()
        #expect(Set(bench.kinds).isSuperset(of: [.register, .send, .commit, .remove]))
        let actions = bench.tell(.setSignedOut(Self.reason))
        #expect(actions.contains(.allChanged))
        #expect(bench.cancelled == underWay)
        #expect(bench.underWay.isEmpty)
        let begun = bench.begun.count
        bench.tell(
            .credentialsChanged, .networkChanged, .retry(content(1).key), .retryCommit("s"),
            .discard([RemoteHandle(id: "y")]),
            .commit(post("t"), forgotten: 0))
        bench.tell(joins(5...6))
        bench.pass(.seconds(3600))
        #expect(bench.begun.count == begun)
        #expect(bench.machine.nextDeadline(after: bench.now.monotonic) == nil)
        #expect(bench.machine.signedOut == Self.reason)
    }

    @Test("everything except paused files is shown as signed out, with the reason")
    func shown() {
        var bench = busy()
        bench.tell(.setSignedOut(Self.reason))
        for number in 1...4 as ClosedRange<UInt64> {
            let view = bench.view(content(number).key, RelativePath("f\(number)") ?? .root)
            #expect(view?.state == .signedOut && view?.error == Self.reason && view?.nextAttemptAt == nil)
        }
        #expect(bench.state(content(9).key, "f9") == .paused)
        let commit = bench.machine.commitView(of: "s")
        #expect(commit?.state == .signedOut && commit?.error == Self.reason && commit?.nextAttemptAt == nil)
        bench.tell(.setAllPaused(true))
        #expect(bench.state(content(1).key, "f1") == .paused)
        #expect(bench.machine.commitView(of: "s")?.state == .paused)
    }

    @Test(
        "progress is kept, and everything continues at once afterwards",
        arguments: [RemoteTraits.fileSection, .tus, .s3])
    func after(traits: RemoteTraits) {
        var bench = busy(traits)
        bench.tell(.setSignedOut(Self.reason))
        bench.pass(.seconds(3600))
        let begun = bench.begun.count
        bench.tell(.setSignedOut(nil))
        #expect(bench.begun.count > begun)
        #expect(bench.underWay.contains { $0.kind == (traits.asksBeforeResuming ? .resume : .send) })
        bench.tell(.setPaused("f9", content(9).key, false))
        bench.run {
            $0.kind == .resume && $0.keys == [content(1).key] ? .offset(UInt64(FragmentPlan.sectionSize)) : .success
        }
        #expect(bench.outcomes.count == 5)
        #expect(bench.commits.count == 1)
        #expect(bench.ledger.removals.isEmpty)
        #expect(bench.batches(.register).joined().count { $0 == 1 } == 1)
    }

    @Test("late answers are ignored, but an id issued late is deleted")
    func late() {
        var bench = busy()
        let old = bench.underWay
        bench.tell(.setSignedOut(Self.reason))
        let acknowledged = bench.ledger.acknowledged(content(1).key)
        for request in old where request.kind != .register { bench.tell(Reply.success.events(for: request)) }
        #expect(bench.ledger.acknowledged(content(1).key) == acknowledged)
        #expect(bench.commits.isEmpty)
        #expect(bench.ledger.removals.map(\.id) == ["x"])
        for request in old where request.kind == .register { bench.tell(Reply.success.events(for: request)) }
        #expect(bench.ledger.removals.count == 3)
        bench.tell(.setSignedOut(nil))
        bench.run()
        #expect(bench.ledger.removals.isEmpty)
        #expect(bench.outcomes.count == 4)
    }

    @Test("file_timeout does not run out")
    func noTimeout() {
        var bench = Bench(fileTimeout: .seconds(60))
        bench.tell(joins(1...3, fragments: 9))
        bench.answer(.register)
        bench.tell(.setSignedOut(Self.reason))
        bench.pass(.seconds(3600))
        bench.tell(.tick, .credentialsChanged)
        bench.tell(.setSignedOut(nil))
        bench.pass(.seconds(30))
        #expect(bench.outcomes.isEmpty)
        bench.run()
        #expect(bench.outcomes.values.allSatisfy { if case .done = $0 { true } else { false } })
        #expect(bench.outcomes.count == 3)
    }

    @Test("the files of a source continue together")
    func group() {
        var bench = Bench()
        bench.tell(joins(1...4) + [gather("s", 1...4)])
        bench.tell(.setSignedOut(Self.reason))
        bench.tell(.setSignedOut(nil))
        #expect(bench.batches(.register) == [[1, 2, 3, 4], [1, 2, 3, 4]])
        bench.run()
        #expect(bench.outcomes.count == 4)
    }

    @Test("a new reason is shown, and cancels no request twice")
    func otherReason() {
        var bench = busy()
        bench.tell(.setSignedOut(Self.reason))
        let given = bench.cancelled
        #expect(bench.tell(.setSignedOut(.signedOut)) == [.allChanged])
        #expect(bench.cancelled == given)
        #expect(bench.view(content(1).key, "f1")?.error == .signedOut)
    }
}
