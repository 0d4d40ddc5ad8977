import Testing
import UploadCore

@Suite("Differences between protocols")
struct ProtocolTests {
    private let waiters = [RestoredWaiter(path: "a", paused: false, joinedLater: false)]
    private let fragment = UInt64(FragmentPlan.sectionSize)

    @Test("a restart does not send acknowledged fragments again")
    func restart() {
        var bench = Bench()
        let ten = content(1, fragments: 10)
        bench.tell(.join("a", ten, paused: false))
        bench.answer(.register)
        for _ in 0..<6 { bench.answer(.send) }
        let done = Set(bench.begun.filter { $0.kind == .send }.map(\.fragment)).subtracting(
            bench.underWay.map(\.fragment))
        var later = bench.restarted([ten.key: waiters])
        later.tell(.tick)
        later.run()
        #expect(later.begun.allSatisfy { $0.kind != .register })
        let again = later.begun.filter { $0.kind == .send }.map(\.fragment)
        #expect(again.sorted() == (0..<10).filter { !done.contains($0) })
        #expect(later.outcomes["a"] != nil)
    }

    @Test("an upload of another account is not restored")
    func otherScope() {
        var bench = Bench()
        let record = UploadRecord(
            key: content(1).key, seal: content(1).seal, plan: FragmentPlan(size: 1), scope: RemoteScope("other"),
            order: 1)
        bench.machine.restore(record, acknowledged: FragmentSet(), receipts: [:], waiters: waiters, now: bench.now)
        #expect(bench.machine.keys.isEmpty)
    }

    @Test("an ordered protocol has one fragment in flight, in order")
    func ordered() {
        var bench = Bench(.tus)
        bench.tell(.join("a", content(1, fragments: 6), paused: false))
        bench.run()
        #expect(bench.peak == (1, 1))
        #expect(bench.begun.filter { $0.kind == .send }.map(\.fragment) == Array(0..<6))
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("an ordered protocol asks after an interruption, and continues at the server's offset")
    func offset() throws {
        var bench = Bench(.tus)
        bench.tell(.join("a", content(1, fragments: 6), paused: false))
        bench.answer(.register)
        bench.answer(.send)
        bench.answer(.send)
        bench.answer(.send, .failure(.busy))
        bench.pass(.seconds(1))
        #expect(bench.kinds == [.resume])
        bench.answer(.resume, .offset(fragment * 3 + 1000))
        let send = try #require(bench.underWay.first)
        #expect(send.fragment == 3 && send.skip == 1000)
        #expect(bench.ledger.acknowledged(content(1).key) == FragmentSet(prefix: 3))
        bench.answer(.send)
        #expect(bench.underWay.first?.skip == 0)
    }

    @Test("a registration without a request is no sign of life")
    func registeredUnasked() throws {
        var bench = Bench(.tus)
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register, .unasked)
        bench.answer(.send, .failure(.busy))
        #expect(bench.trouble.count == 1)
        bench.tell(.leave("a", content(1).key), .join("b", content(2), paused: false))
        bench.pass(.seconds(1))
        bench.answer(.register, .unasked)
        #expect(bench.trouble.count == 1)
        // Only the request with the bytes shows whether the server is back.
        bench.answer(.send)
        #expect(bench.trouble.count == 2)
    }

    @Test("an upload whose creation was interrupted is registered again, which is no sign of life either")
    func resumedUnasked() throws {
        var bench = Bench(.tus)
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register, .unasked)
        bench.answer(.send, .failure(.busy))
        bench.pass(.seconds(1))
        bench.answer(.resume, .unasked)
        #expect(bench.trouble.count == 1)
        #expect(bench.kinds == [.register])
        #expect(bench.ledger.uploads[content(1).key]?.handle == nil)
        bench.run()
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("what was never sent needs no removal")
    func removedUnasked() {
        var bench = Bench(.tus)
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register, .unasked)
        bench.tell(.leave("a", content(1).key))
        #expect(bench.underWay.isEmpty && bench.ledger.removals.isEmpty)
    }

    @Test("an upload out of step asks where it stands: at once, then with growing pauses until bytes arrive")
    func outOfStep() throws {
        var bench = Bench(.tus)
        bench.tell(.join("a", content(1, fragments: 6), paused: false))
        bench.answer(.register)
        bench.answer(.send)
        bench.answer(.send, .failure(.outOfStep(.busy)))
        #expect(bench.kinds == [.resume] && bench.state() == .uploading)
        bench.answer(.resume, .offset(fragment))
        bench.answer(.send, .failure(.outOfStep(.busy)))
        #expect(bench.underWay.isEmpty && bench.state() == .waiting)
        bench.pass(.seconds(2))
        bench.answer(.resume, .offset(fragment + 1))
        bench.answer(.send, .failure(.outOfStep(.busy)))
        #expect(bench.kinds == [.resume], "a byte arrived in between")
        bench.run()
        #expect(bench.outcomes["a"] != nil && bench.trouble.isEmpty)
    }

    @Test("a complete upload that turns out incomplete sends the missing bytes")
    func finishOutOfStep() {
        var bench = Bench(.tus)
        bench.tell(.join("a", content(1, fragments: 3), paused: false))
        bench.answer(.register)
        for _ in 0..<3 { bench.answer(.send) }
        bench.answer(.finish, .failure(.outOfStep(.busy)))
        bench.answer(.resume, .offset(fragment * 2))
        #expect(bench.underWay.map(\.fragment) == [2])
        bench.run()
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("a server with fewer bytes than the ledger gets the missing bytes")
    func lowerOffset() {
        var bench = Bench(.tus)
        let six = content(1, fragments: 6)
        bench.tell(.join("a", six, paused: false))
        bench.answer(.register)
        for _ in 0..<4 { bench.answer(.send) }
        var later = bench.restarted([six.key: waiters])
        later.tell(.tick)
        #expect(later.kinds == [.resume])
        later.answer(.resume, .offset(fragment))
        #expect(later.underWay.map(\.fragment) == [1])
        #expect(later.ledger.acknowledged(six.key) == FragmentSet(prefix: 1))
        later.run()
        #expect(later.outcomes["a"] != nil)
    }

    @Test("a server with all bytes gets only a finish request")
    func fullOffset() {
        var bench = Bench(.tus)
        let two = content(1, fragments: 2)
        bench.tell(.join("a", two, paused: false))
        bench.answer(.register)
        bench.answer(.send, .failure(.busy))
        bench.pass(.seconds(1))
        bench.answer(.resume, .offset(two.seal.size))
        #expect(bench.kinds == [.finish])
    }

    @Test("a pause also counts as an interruption")
    func pausedOrdered() {
        var bench = Bench(.tus)
        bench.tell(.join("a", content(1, fragments: 6), paused: false))
        bench.answer(.register)
        bench.tell(.setAllPaused(true))
        bench.tell(.setAllPaused(false))
        #expect(bench.kinds == [.resume])
    }

    @Test("receipts survive a restart, and are stored page by page")
    func receipts() {
        var bench = Bench(.s3)
        let large = content(1, fragments: 40)
        bench.tell(.join("a", large, paused: false))
        bench.answer(.register)
        while let send = bench.underWay.first(where: { $0.kind == .send }) {
            bench.tell(Reply.receipt("etag-\(send.fragment)").events(for: send))
        }
        var later = bench.restarted([large.key: waiters])
        later.tell(.tick)
        #expect(later.kinds == [.finish])
        #expect(later.machine.receipts(of: large.key) == [0: "etag-0", 1: "etag-1", 2: "etag-2", 3: "etag-3"])
        later.answer(.finish, .unassembled)
        #expect(later.machine.receipts(of: large.key).isEmpty)
        #expect(later.ledger.receipts(large.key).isEmpty)
    }

    @Test("after a restart, the server's list of fragments is the truth")
    func list() {
        var bench = Bench(.s3)
        let large = content(1, fragments: 40)
        bench.tell(.join("a", large, paused: false))
        bench.answer(.register)
        bench.answer(.send, .receipt("old"))
        var later = bench.restarted([large.key: waiters])
        later.tell(.tick)
        #expect(later.kinds == [.resume])
        later.answer(.resume, .fragments([1: "one", 3: "three", 4: "beyond the end", -1: "before it"]))
        #expect(later.machine.receipts(of: large.key) == [1: "one", 3: "three"])
        #expect(later.ledger.receipts(large.key) == [1: "one", 3: "three"])
        #expect(later.underWay.filter { $0.kind == .send }.map(\.fragment).sorted() == [0, 2])
        later.run()
        #expect(later.outcomes["a"] != nil)
    }

    @Test("a failure in between asks for no list of fragments")
    func noList() {
        var bench = Bench(.s3)
        bench.tell(.join("a", content(1, fragments: 40), paused: false))
        bench.answer(.register)
        bench.answer(.send, .failure(.busy))
        bench.pass(.seconds(1))
        #expect(!bench.begun.contains { $0.kind == .resume })
        bench.run()
        #expect(bench.outcomes["a"] != nil)
    }

    @Test(
        "a content has as many fragments as the protocol allows",
        arguments: [1, 5 << 20, 50 << 30, 64 << 30] as [UInt64])
    func plans(size: UInt64) {
        let plan = RemoteTraits.s3.plan(for: size)
        #expect(plan.count <= 10_000)
        #expect(plan.fragmentSize >= 5 << 20 && plan.fragmentSize % FragmentPlan.sectionSize == 0)
        #expect(plan.range(of: plan.count - 1).upperBound == size)
    }

    @Test("an upload that the server forgot is registered again at once, without its former progress")
    func forgotten() {
        var bench = Bench()
        let ten = content(1, fragments: 10)
        bench.tell(.join("a", ten, paused: false))
        bench.answer(.register)
        for _ in 0..<3 { bench.answer(.send) }
        let actions = bench.answer(.send, .failure(.forgotten))
        #expect(actions.writes.contains(.forgetFragments(ten.key)))
        #expect(bench.kinds == [.register])
        bench.run()
        #expect(bench.begun.count { $0.kind == .send } >= 13)
        #expect(bench.outcomes["a"] != nil)
    }

    @Test("the parts of a multipart upload that starts over are removed, also after a refusal")
    func forgottenParts() throws {
        var bench = Bench(.s3)
        let large = content(1, fragments: 40)
        let handle = RemoteHandle(id: "upload", object: "a.mp4")
        bench.tell(.join("a", large, paused: false))
        bench.tell(.registered(try #require(bench.underWay.first).id, large.key, handle, .asRecorded))
        bench.answer(.send, .failure(.forgotten))
        #expect(bench.underWay.contains { $0.kind == .remove && $0.names == ["upload"] })
        bench.answer(.remove, .failure(.busyUpload(.busy)))
        #expect(bench.ledger.removals.contains(handle))
        bench.run()
        #expect(bench.outcomes["a"] != nil && bench.ledger.removals.isEmpty)
        #expect(bench.begun.count { $0.kind == .remove } == 2)
    }

    @Test("a content already on the server is done without sending")
    func existing() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        let actions = bench.answer(.register, .existing)
        #expect(bench.outcomes["a"] == .done(RemoteObject(id: "old-1", url: nil), deduplicated: true))
        #expect(actions.writes.contains { if case .confirmation = $0 { true } else { false } })
        #expect(!bench.begun.contains { $0.kind == .send })
    }

    @Test(
        "an existing content counts as recognised by MD5 alone, unless registered with its SHA-256"
    )
    func existingByDigest() throws {
        var content = content(1)
        for sha256 in [nil, StrongDigest([UInt8](repeating: 7, count: 32))] {
            content.sha256 = sha256
            var bench = Bench()
            bench.tell(.join("a", content, paused: false))
            #expect(bench.machine.record(of: content.key)?.sha256 == sha256)
            let writes = bench.answer(.register, .existing).writes
            let confirmation = try #require(
                writes.compactMap { if case .confirmation(let confirmation) = $0 { confirmation } else { nil } }.first)
            #expect(confirmation.isByMD5Alone == (sha256 == nil))
        }
    }

    @Test("a server that compared no SHA-256 recognised the content by MD5 alone")
    func existingByMD5() throws {
        var content = content(1)
        content.sha256 = StrongDigest([UInt8](repeating: 7, count: 32))
        var bench = Bench()
        bench.tell(.join("a", content, paused: false))
        let request = try #require(bench.underWay.first)
        let object = RemoteObject(id: "old", url: nil)
        let writes = bench.tell(.existing(request.id, content.key, object, byMD5Alone: true)).writes
        #expect(
            writes.contains {
                if case .confirmation(let confirmation) = $0 { confirmation.isByMD5Alone } else { false }
            })
    }

    @Test("a path with a SHA-256 passes it to an upload without one")
    func digestComesLater() throws {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        var known = content(1)
        known.sha256 = StrongDigest([UInt8](repeating: 7, count: 32))
        bench.tell(.join("b", known, paused: false))
        #expect(bench.machine.record(of: known.key)?.sha256 == known.sha256)
    }

    @Test("nothing begins after the machine was stopped")
    func stop() {
        var bench = Bench()
        bench.tell(.join("a", content(1, fragments: 9), paused: false))
        bench.answer(.register)
        bench.tell(.stop)
        #expect(bench.underWay.isEmpty)
        bench.tell(.join("b", content(2), paused: false), .tick, .networkChanged)
        #expect(bench.underWay.isEmpty)
        #expect(bench.machine.nextDeadline(after: bench.now.monotonic) == nil)
    }

    @Test("an id of up to 4096 bytes is accepted; a longer one fails this upload alone", arguments: [false, true])
    func longIDs(existing: Bool) throws {
        var bench = Bench()
        bench.tell(
            .join("a", content(1), paused: false), .join("b", content(2), paused: false),
            .join("c", content(3), paused: false))
        let request = try #require(bench.underWay.first)
        let lengths = [4096, 4097, 1]
        bench.tell(
            zip(request.keys, lengths).map { key, length in
                let id = String(repeating: "x", count: length)
                return existing
                    ? .existing(request.id, key, RemoteObject(id: id, url: nil))
                    : .registered(request.id, key, RemoteHandle(id: id), .asRecorded)
            })
        bench.run()
        guard case .failed(let error) = bench.outcomes["b"] else {
            Issue.record("\(String(describing: bench.outcomes["b"]))")
            return
        }
        #expect(error.code == "id_too_long" && error.message.contains("4097 bytes"))
        for path: RelativePath in ["a", "c"] {
            guard case .done = bench.outcomes[path] else {
                Issue.record("\(path): \(String(describing: bench.outcomes[path]))")
                return
            }
        }
        #expect(bench.machine.keys.isEmpty && bench.ledger.removals.isEmpty && bench.trouble.isEmpty)
    }

    @Test(
        "an answer from before a pause ends the question how much the server has",
        arguments: [RemoteFailure.busy, .outOfStep(.busy), .busyUpload(.busy), .unauthorized])
    func staleAnswer(failure: RemoteFailure) throws {
        var bench = pausedWhileAsking()
        bench.answer(.finish, .failure(failure))
        #expect(bench.kinds.filter { $0 == .resume }.count <= 1)
        bench.tell(.credentialsChanged)
        bench.run()
        #expect(bench.outcomes["a"] != nil)
        #expect(bench.machine.keys.isEmpty)
    }

    @Test("a confirmation from before a pause also ends the question how much the server has")
    func staleConfirmation() throws {
        var bench = pausedWhileAsking()
        bench.answer(.finish)
        #expect(bench.outcomes["a"] != nil && bench.underWay.isEmpty)
    }

    /// Returns a bench with a finish request from before a pause, and a question from after the pause.
    private func pausedWhileAsking() -> Bench {
        var bench = Bench(.tus)
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register)
        bench.answer(.send)
        bench.tell(.setPaused("a", content(1).key, true))
        bench.tell(.setPaused("a", content(1).key, false))
        #expect(bench.kinds == [.finish, .resume])
        return bench
    }
}
