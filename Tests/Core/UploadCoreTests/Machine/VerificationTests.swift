import Testing
import UploadCore

@Suite("Verification of confirmed content")
struct VerificationTests {
    private let one = content(1, fragments: 2)
    private let old = RemoteObject(id: "old", url: "http://x/old")

    private func begun() -> Bench {
        var bench = Bench()
        bench.tell(.verify("a", one, old, paused: false))
        return bench
    }

    @Test("content still on the server is done without sending")
    func stillThere() {
        var bench = begun()
        #expect(bench.underWay.map(\.kind) == [.finish])
        bench.run()
        #expect(bench.begun.map(\.kind) == [.finish])
        guard case .done(let remote, let deduplicated) = bench.outcomes["a"] else {
            Issue.record("not done: \(String(describing: bench.outcomes["a"]))")
            return
        }
        #expect(remote.id == "old")
        #expect(deduplicated)
    }

    @Test("content that the server lost is sent again")
    func lost() {
        var bench = begun()
        bench.answer(.finish, .failure(.forgotten))
        #expect(bench.ledger.uploads[one.key]?.handle == nil)
        bench.run()
        #expect(bench.begun.count { $0.kind == .send } == 2)
        guard case .done(let remote, deduplicated: false) = bench.outcomes["a"] else {
            Issue.record("not sent: \(String(describing: bench.outcomes["a"]))")
            return
        }
        #expect(remote.id != "old")
    }

    @Test("confirmed content stays on the server if its file is removed")
    func leaves() {
        var bench = begun()
        bench.tell(.leave("a", one.key))
        #expect(bench.underWay.isEmpty)
        #expect(bench.ledger.removals.isEmpty)
        #expect(bench.machine.keys.isEmpty)
    }

    @Test("a confirmation is withdrawn if the server can't assemble the confirmed content")
    func lostInPart() {
        var bench = begun()
        let actions = bench.answer(.finish, .unassembled)
        #expect(actions.writes.contains(.forgetConfirmation(one.key, Bench.scope)))
    }

    @Test("content of which the server has only a part is sent from there on")
    func hasOnlyAPart() {
        var bench = Bench(.tus)
        bench.tell(.verify("a", one, old, paused: false))
        bench.answer(.finish, .failure(.outOfStep(.busy)))
        let actions = bench.answer(.resume, .offset(1000))
        #expect(actions.writes.contains(.forgetConfirmation(one.key, Bench.scope)))
        #expect(bench.ledger.uploads[one.key]?.handle?.id == "old")
        bench.run()
        guard case .done(_, deduplicated: false) = bench.outcomes["a"] else {
            Issue.record("not sent: \(String(describing: bench.outcomes["a"]))")
            return
        }
    }

    @Test("a file paused during the verification stays paused")
    func pausedMeanwhile() {
        var bench = begun()
        bench.tell(.setPaused("a", one.key, true))
        bench.answer(.finish, .assembling)
        bench.pass(.seconds(100))
        #expect(bench.begun.count == 1)
        #expect(bench.machine.view(of: one.key, from: "a")?.state == .paused)
    }

    @Test("an id issued again during its deletion is not deleted later")
    func idGivenOutAgain() throws {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false))
        bench.answer(.register, .registered("43", .asRecorded))
        bench.tell(.leave("a", one.key))
        let removal = try #require(bench.underWay.first { $0.kind == .remove })
        bench.tell(.join("a", one, paused: false))
        bench.answer(.register, .registered("43", .asRecorded))
        #expect(bench.cancelled.contains(removal.id))
        #expect(bench.ledger.removals.isEmpty)
        bench.tell(.removalFailed(removal.id, .busy))
        bench.run()
        #expect(bench.begun.count { $0.kind == .remove } == 1)
    }

    @Test("verification waits while the server is away, and is not stored, so that a restart asks again")
    func away() {
        var bench = begun()
        bench.answer(.finish, .failure(.busy))
        #expect(bench.ledger.uploads.isEmpty)
        bench.run()
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("a content already under way is joined")
    func joins() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false), .verify("b", one, old, paused: false))
        bench.run()
        #expect(bench.outcomes.count == 2)
        #expect(bench.begun.count { $0.kind == .send } == 2)
    }
}
