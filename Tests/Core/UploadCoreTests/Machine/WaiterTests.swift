import Testing
import UploadCore

@Suite("Paths that join and leave uploads")
struct WaiterTests {
    private let one = content(1, fragments: 2)

    @Test("two paths with one content are one upload, and both get the outcome")
    func sharedUpload() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false), .join("b", one, paused: false))
        bench.run()
        let remote = RemoteObject(id: "1-1", url: "http://x/1")
        #expect(bench.outcomes["a"] == .done(remote, deduplicated: false))
        #expect(bench.outcomes["b"] == .done(remote, deduplicated: true))
        #expect(bench.begun.count { $0.kind == .send } == 2)
    }

    @Test("if one of two paths leaves, the upload continues")
    func oneLeaves() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false), .join("b", one, paused: false))
        bench.answer(.register)
        let actions = bench.tell(.leave("a", one.key))
        #expect(actions == [.changed(one.key)])
        bench.run()
        #expect(bench.outcomes.keys.sorted() == ["b"])
        #expect(bench.outcomes["b"] == .done(RemoteObject(id: "1-1", url: "http://x/1"), deduplicated: false))
    }

    @Test("if the last path leaves, its requests are cancelled and the id is deleted, durably")
    func lastLeaves() throws {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false))
        bench.answer(.register)
        let sends = bench.underWay.map(\.id)
        let actions = bench.tell(.leave("a", one.key))
        #expect(actions.writes.contains(.removal(RemoteHandle(id: "1-1"), Bench.scope)))
        #expect(actions.writes.contains(.forgetUpload(one.key)))
        #expect(actions.contains(.cancel(sends)))
        #expect(bench.underWay.map(\.names) == [["1-1"]])

        var later = bench.restarted([:])
        later.tell(.tick)
        #expect(later.underWay.map(\.names) == [["1-1"]])
        later.answer(.remove)
        #expect(later.ledger.removals.isEmpty)
    }

    @Test("an id that arrives after the last path left is deleted")
    func lateID() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false))
        let request = bench.underWay[0]
        bench.tell(.leave("a", one.key))
        bench.tell(.registered(request.id, one.key, RemoteHandle(id: "late"), .asRecorded))
        #expect(bench.underWay.map(\.names) == [["late"]])
        #expect(bench.machine.keys.isEmpty)
    }

    @Test("an id that the server issues again is not deleted")
    func sameIDAgain() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false))
        bench.answer(.register, .registered("same", .asRecorded))
        bench.tell(.leave("a", one.key))
        bench.answer(.remove, .failure(.busy))
        bench.tell(.join("a", one, paused: false))
        bench.pass(.milliseconds(700))
        #expect(bench.ledger.removals.map(\.id) == ["same"])
        bench.tell(.networkChanged)
        bench.run { $0.kind == .remove ? .failure(.busy) : .registered("same", .asRecorded) }
        #expect(bench.ledger.removals.isEmpty)
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("an answer to an earlier upload of the same content is ignored")
    func staleConfirmation() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register)
        bench.answer(.send)
        let question = bench.underWay[0]
        bench.tell(.leave("a", content(1).key))
        bench.tell(.join("a", content(1), paused: false))
        bench.tell(Reply.success.events(for: question))
        #expect(bench.outcomes.isEmpty)
        #expect(bench.ledger.confirmations.isEmpty)
        bench.run()
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("an answer to a cancelled request is ignored")
    func staleAcknowledgement() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false))
        bench.answer(.register)
        let old = bench.underWay[0]
        bench.tell(.setPaused("a", one.key, true))
        let actions = bench.tell(Reply.success.events(for: old))
        #expect(actions.isEmpty)
        #expect(bench.view()?.fragments.finished == 0)
    }

    @Test("a batch continues when one of its uploads leaves")
    func leavingABatch() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.tell(.join("b", content(2), paused: false), .join("c", content(3), paused: false))
        bench.answer(.register)
        let batch = bench.underWay.first { $0.kind == .register }
        #expect(batch?.keys == [content(2).key, content(3).key])
        bench.tell(.leave("b", content(2).key))
        #expect(bench.cancelled.isEmpty)
        bench.run()
        #expect(bench.outcomes.keys.sorted() == ["a", "c"])
    }

    @Test("a path whose content matches the key but not the seal fails alone")
    func keyCollision() {
        var bench = Bench()
        var other = one
        other.seal.digest += 1
        bench.tell(.join("a", one, paused: false))
        let actions = bench.tell(.join("b", other, paused: false))
        guard case .ended("b", one.key, .failed(let error), attempts: 0) = actions.first else {
            Issue.record("b did not fail")
            return
        }
        #expect(error.code == "key_collision")
        bench.run()
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("changed bytes under one path cause a new hash of this path, and another path continues")
    func changedSource() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false), .join("b", one, paused: false))
        bench.answer(.register)
        let actions = bench.answer(.send, .failure(.source("a", .changed)))
        #expect(actions.contains(.takeAgain("a", one.key)))
        bench.run()
        #expect(bench.outcomes.keys.sorted() == ["b"])
    }

    @Test("changed bytes under the only path end the upload and delete it from the server")
    func changedOnlySource() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false))
        bench.answer(.register)
        let actions = bench.answer(.send, .failure(.source("a", .changed)))
        #expect(actions.contains(.takeAgain("a", one.key)))
        #expect(bench.underWay.map(\.kind) == [.remove])
        #expect(bench.outcomes.isEmpty)
    }

    @Test("a renamed path keeps its upload")
    func rename() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false))
        bench.answer(.register)
        bench.tell(.rename("a", to: "b", one.key))
        #expect(bench.state() == nil)
        #expect(bench.state(one.key, "b") == .uploading)
        #expect(bench.cancelled.isEmpty)
    }

    @Test("an upload with a missing file continues at once under the file's new name", arguments: [true, false])
    func missedAndFound(isRename: Bool) {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false))
        bench.answer(.register)
        while bench.kinds.contains(.send) { bench.answer(.send, .failure(.source("a", .missing))) }
        #expect(bench.state(one.key, "a") == .waiting)
        bench.tell(isRename ? .rename("a", to: "b", one.key) : .join("b", one, paused: false))
        #expect(bench.state(one.key, "b") == .uploading)
    }

    @Test("a pause of one of two paths affects this path alone")
    func pauseOne() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false), .join("b", one, paused: false))
        bench.answer(.register)
        bench.tell(.setPaused("a", one.key, true))
        #expect(bench.state() == .paused)
        #expect(bench.state(one.key, "b") == .uploading)
        #expect(bench.cancelled.isEmpty)
    }

    @Test("a pause during registration keeps the id, and the content is not registered twice")
    func pauseWhileRegistering() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false))
        bench.tell(.setPaused("a", one.key, true))
        bench.tell(.setPaused("a", one.key, false))
        bench.run()
        #expect(bench.begun.count { $0.kind == .register } == 1)
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("a pause during the question does not ask twice", arguments: [RemoteTraits.fileSection, .s3])
    func pauseWhileAsking(traits: RemoteTraits) {
        var bench = Bench(traits)
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register)
        bench.answer(.send)
        bench.tell(.setPaused("a", content(1).key, true))
        bench.tell(.setPaused("a", content(1).key, false))
        #expect(bench.kinds == [.finish])
        bench.answer(.finish, .unassembled)
        #expect(bench.ledger.uploads[content(1).key]?.assemblyFailures == 1)
    }

    @Test("while everything is paused, new paths are held too, and everything continues afterwards")
    func pauseAll() {
        var bench = Bench()
        bench.tell(.join("a", one, paused: false))
        bench.answer(.register)
        bench.tell(.setAllPaused(true))
        #expect(bench.underWay.isEmpty)
        bench.tell(.join("b", content(2), paused: false))
        #expect(bench.underWay.isEmpty)
        #expect(bench.state(content(2).key, "b") == .paused)
        bench.tell(.setAllPaused(false))
        bench.run()
        #expect(bench.outcomes.count == 2)
    }
}
