import Testing
import UploadCore

@Suite("Schedule of requests")
struct ScheduleTests {
    private func joins(_ numbers: ClosedRange<UInt64>, fragments: Int = 1) -> [MachineEvent] {
        numbers.map { .join(RelativePath("f\($0)") ?? .root, content($0, fragments: fragments), paused: false) }
    }

    @Test("registrations and finish requests come in batches of at most 50")
    func batches() {
        var bench = Bench(files: 200)
        bench.tell(joins(1...120))
        bench.run()
        let registered = bench.begun.filter { $0.kind == .register }
        #expect(registered.map(\.keys.count).max() == 50)
        #expect(registered.map(\.keys.count).reduce(0, +) == 120)
        #expect(bench.begun.filter { $0.kind == .finish }.map(\.keys.count).max() ?? 0 <= 50)
        #expect(bench.outcomes.count == 120)
    }

    @Test("reports no change from one phase to another that looks alike")
    func unseen() throws {
        var bench = Bench(files: 1)
        #expect(bench.tell(joins(1...2)).contains(.changed(content(2).key)))
        let request = try #require(bench.underWay.first)
        let registered = (1...2).map {
            MachineEvent.registered(request.id, content($0).key, RemoteHandle(id: "\($0)"), .asRecorded)
        }
        let actions = bench.tell(registered)
        #expect(actions.contains(.changed(content(1).key)))
        #expect(!actions.contains(.changed(content(2).key)))
    }

    @Test("a refused batch is repeated file by file, and only the refused file fails")
    func guilty() {
        var bench = Bench()
        bench.tell(joins(1...20))
        bench.run { $0.kind == .register && $0.keys.contains(content(7).key) ? .failure(.refused) : .success }
        let failed = bench.outcomes.filter { if case .failed = $0.value { true } else { false } }
        #expect(failed.keys.map(\.description) == ["f7"])
        #expect(bench.outcomes.count == 20)
    }

    @Test("one file whose fragments always fail does not stop the others", arguments: [1, 5])
    func oneBadFile(files: Int) {
        var bench = Bench(files: files)
        bench.tell(joins(1...20, fragments: 3))
        bench.run(for: .seconds(1800)) {
            $0.kind == .send && $0.keys == [content(1).key]
                ? .failure(.temporary(.busy, retryAfter: .seconds(5))) : .success
        }
        #expect(bench.outcomes.count == 19)
        #expect(bench.state(content(1).key, "f1") == .waiting)
    }

    @Test("files and fragments in flight stay within the limits", arguments: [1, 2, 5], [1, 4])
    func limits(files: Int, fragments: Int) {
        var bench = Bench(files: files, fragments: fragments)
        bench.tell(joins(1...30, fragments: 20))
        var count = 0
        bench.run(for: .seconds(600)) { request in
            count += 1
            return request.kind == .send && count.isMultiple(of: 7) ? .failure(.busy) : .success
        }
        #expect(bench.peak == (fragments, files))
    }

    @Test(
        "files smaller than a fragment count by their size, within the limit of fragments",
        arguments: [(files: 2, fragments: nil, most: 16), (5, nil, 32), (2, 2, 4), (1, 1, 1)] as [(Int, Int?, Int)])
    func smallFiles(files: Int, fragments: Int?, most: Int) {
        var bench = Bench(files: files, fragments: fragments)
        bench.tell(
            (1...1000).map { .join(RelativePath("f\($0)") ?? .root, content($0, bytes: 64 << 10), paused: false) })
        bench.run { _ in .took(.milliseconds(60)) }
        #expect(bench.peak == (1, most))
        #expect(bench.outcomes.count == 1000)
    }

    @Test("a large file gets a slot beside small ones that fill less than all")
    func largeBesideSmall() {
        var bench = Bench(files: 2, fragments: nil)
        bench.tell((1...8).map { .join(RelativePath("f\($0)") ?? .root, content($0, bytes: 64 << 10), paused: false) })
        bench.tell(.join("large", content(9, fragments: 40), paused: false))
        bench.run { _ in .took(.milliseconds(60)) }
        #expect(bench.outcomes.count == 9)
    }

    @Test("a single large file may use the whole automatic window")
    func wholeWindow() {
        var bench = Bench(files: 5, fragments: nil)
        bench.tell(.join("a", content(1, fragments: 2000), paused: false))
        bench.run { _ in .took(.milliseconds(60)) }
        #expect(bench.peak == (UploadLimits.automaticMost, 1))
    }

    @Test("a reload can lower the number of files in flight")
    func lowerLimit() {
        var bench = Bench(files: 4, fragments: 1)
        bench.tell(joins(1...8, fragments: 50))
        bench.answer(.register)
        #expect(bench.underWay.count == 4)
        bench.tell(.setLimits(UploadLimits(filesInFlight: 1, fragmentsInFlight: 1, retryInterval: .seconds(120))))
        for _ in 0..<4 { bench.answer(.send) }
        for _ in 0..<5 {
            #expect(bench.kinds == [.send])
            bench.answer(.send)
        }
    }

    @Test("a small file does not wait for large ones to end", arguments: [1, 2, 5])
    func smallBehindLarge(files: Int) {
        var bench = Bench(files: files)
        bench.tell(
            (1...10).map { .join(RelativePath("large\($0)") ?? .root, content($0, fragments: 2000), paused: false) })
        bench.run(for: .seconds(1))
        bench.tell(.join("small", content(99), paused: false))
        bench.run(for: .seconds(3))
        #expect(bench.outcomes.keys.sorted() == ["small"])
    }

    @Test("a large file does not wait for small ones that keep coming", arguments: [1, 2, 5])
    func largeBehindSmall(files: Int) {
        var bench = Bench(files: files)
        bench.tell(joins(1...100, fragments: 8))
        bench.tell(.join("large", content(5000, fragments: 40), paused: false))
        var next: UInt64 = 1000
        for _ in 0..<200 where bench.outcomes["large"] == nil {
            next += 20
            bench.tell(joins(next...next + 19, fragments: 8))
            bench.run(for: .milliseconds(100))
        }
        #expect(bench.outcomes["large"] != nil)
    }

    @Test(
        "turns are counted in bytes: a large file yields after 32 MiB, whatever its fragments",
        arguments: [(RemoteTraits.fileSection, fragments: 64), (.s3, 7), (.tus, 64)])
    func turns(traits: RemoteTraits, fragments: Int) {
        var bench = Bench(traits, files: 1, fragments: 1)
        bench.tell(.join("large", content(1, bytes: 1 << 30), paused: false))
        bench.answer(.register)
        bench.tell(.join("small", content(2, bytes: 8 << 20), paused: false))
        bench.answer(.register)
        for _ in 0..<fragments {
            #expect(bench.begun.last { $0.kind == .send }?.keys == [content(1).key])
            bench.answer(.send)
        }
        #expect(bench.begun.last { $0.kind == .send }?.keys == [content(2).key])
    }

    @Test("a file of up to 8 MiB is small, whatever its fragments", arguments: [RemoteTraits.fileSection, .s3, .tus])
    func smallness(traits: RemoteTraits) {
        for (size, isSmall) in [(8 << 20, true), (8 << 20 + 1, false)] as [(UInt64, Bool)] {
            var bench = Bench(traits, files: 1, fragments: 1)
            bench.tell(.join("large", content(1, bytes: 1 << 30), paused: false))
            bench.answer(.register)
            bench.tell(.join("other", content(2, bytes: size), paused: false))
            bench.answer(.register)
            for _ in 0..<64 { bench.answer(.send) }
            #expect(bench.begun.contains { $0.kind == .send && $0.keys == [content(2).key] } == isSmall, "\(size)")
        }
    }

    @Test(
        "a protocol without batches registers no more uploads ahead than files in flight",
        arguments: [(RemoteTraits.tus, registered: 6), (.s3, 6), (.fileSection, 40)])
    func lookahead(traits: RemoteTraits, registered: Int) {
        var bench = Bench(traits, files: 3, fragments: 1)
        bench.tell(joins(1...40, fragments: 50))
        while bench.kinds.contains(.register) { bench.answer(.register) }
        #expect(bench.batches(.register).flatMap(\.self).count == registered)
        bench.run(for: .seconds(36_000))
        #expect(bench.outcomes.count == 40)
    }

    @Test(
        "without batches, small uploads are registered ahead up to the most fragments in flight, and large ones beside them",
        arguments: [(nil, most: 32), (2, 6)] as [(Int?, most: Int)])
    func smallOnesAhead(fragments: Int?, most: Int) {
        var bench = Bench(.s3, files: 3, fragments: fragments)
        bench.tell(joins(1...60))
        bench.tell(.join("large", content(61, fragments: 50), paused: false))
        while bench.kinds.contains(.register) { bench.answer(.register) }
        let sending = bench.underWay.count { $0.kind == .send }
        #expect(bench.batches(.register).flatMap(\.self).filter { $0 != 61 }.count == sending + most)
        bench.run(for: .seconds(36_000))
        #expect(bench.outcomes.count == 61)
    }

    @Test("without batches, as many registrations are in flight as fragments")
    func parallelRegistrations() {
        var bench = Bench(.tus, files: 3, fragments: nil)
        bench.tell(joins(1...60))
        #expect(bench.underWay.count { $0.kind == .register } == 4)
    }

    @Test(
        "another batch is registered meanwhile if it is whole",
        arguments: [(49, [1]), (60, [1, 50]), (120, [1, 50, 50]), (500, [1, 50, 50])] as [(UInt64, [Int])])
    func wholeBatches(files: UInt64, registered: [Int]) {
        var bench = Bench(files: 3, fragments: nil)
        bench.tell(joins(1...1))
        bench.tell(joins(2...files))
        #expect(bench.batches(.register).map(\.count) == registered)
        bench.run(for: .seconds(36_000))
        #expect(bench.outcomes.count == Int(files))
        #expect(bench.begun.filter { $0.kind == .finish }.allSatisfy { $0.keys.count <= 50 })
    }

    @Test("a file moved to the front is sent next")
    func first() {
        var bench = Bench(files: 1)
        bench.tell(joins(1...60))
        bench.tell(.first(content(60).key))
        bench.run()
        let order = bench.begun.filter { $0.kind == .send }.map(\.keys[0].high)
        #expect(order.prefix(3) == [1, 60, 2])
    }

    @Test("the order survives a restart")
    func orderIsKept() {
        var bench = Bench(files: 1)
        bench.tell(joins(1...5))
        bench.tell(.first(content(4).key))
        let waiters = Dictionary(
            uniqueKeysWithValues: (1...5).map { number in
                (
                    content(number).key,
                    [RestoredWaiter(path: RelativePath("f\(number)") ?? .root, paused: false, joinedLater: false)]
                )
            })
        var later = bench.restarted(waiters)
        later.tell(.tick)
        #expect(later.underWay.first?.keys.map(\.high) == [4, 1, 2, 3, 5])
    }

    @Test("slow fragments free slots one by one, and quick fragments restore them")
    func pace() {
        var bench = Bench()
        bench.tell(.join("a", content(1, fragments: 400), paused: false))
        bench.answer(.register)
        for _ in 0..<3 { bench.answer(.send, .took(.seconds(16))) }
        #expect(bench.underWay.count == 1)
        bench.answer(.send, .took(.seconds(16)))
        #expect(bench.underWay.count == 1)
        for _ in 0..<24 { bench.answer(.send, .took(.seconds(1))) }
        #expect(bench.underWay.count == 4)
    }

    @Test("writes come before everything else")
    func writesFirst() {
        var bench = Bench()
        bench.tell(joins(1...3))
        for kind in [Begun.Kind.register, .send, .send, .finish] {
            let actions = bench.answer(kind)
            let firstOther = actions.firstIndex { !$0.isWrite } ?? actions.count
            #expect(actions[firstOther...].allSatisfy { !$0.isWrite })
            #expect(firstOther > 0 || kind == .finish)
        }
    }

    @Test("an acknowledgement writes its own page and no other")
    func onePage() {
        var bench = Bench(fragments: 1)
        let large = content(1, fragments: FragmentPage.fragments + 10)
        var acknowledged = FragmentSet(prefix: FragmentPage.fragments - 1)
        var record = UploadRecord(
            key: large.key, seal: large.seal, plan: FragmentPlan(size: large.seal.size), scope: Bench.scope, order: 1)
        record.handle = RemoteHandle(id: "x")
        bench.machine.restore(
            record, acknowledged: acknowledged, receipts: [:],
            waiters: [RestoredWaiter(path: "a", paused: false, joinedLater: false)], now: bench.now)
        bench.tell(.tick)
        acknowledged.insert(FragmentPage.fragments - 1)
        #expect(
            bench.answer(.send).writes == [.fragments(large.key, FragmentPage(index: 0, words: acknowledged.words))])
        #expect(bench.answer(.send).writes == [.fragments(large.key, FragmentPage(index: 1, words: [1]))])
    }

    @Test("the finish request is repeated after 1, 2, 4, 8, 16, 30, 30 seconds during assembly")
    func assembling() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        bench.answer(.register)
        bench.answer(.send)
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            bench.answer(.finish, .assembling)
            bench.pass(.seconds(seconds) - .milliseconds(1))
            #expect(bench.underWay.isEmpty)
            bench.pass(.milliseconds(1))
            #expect(bench.kinds == [.finish])
        }
    }

    @Test("an upload that makes no progress within file_timeout fails")
    func fileTimeout() {
        var bench = Bench(fileTimeout: .seconds(600))
        bench.tell(.join("a", content(1), paused: false))
        bench.run(for: .seconds(700)) { _ in .failure(.busy) }
        guard case .failed(let error) = bench.outcomes["a"] else {
            Issue.record("not failed")
            return
        }
        #expect(error.code == "timed_out")
    }

    @Test("waiting for a slot, a pause and a lost session do not count towards file_timeout")
    func noTimeout() {
        var bench = Bench(files: 1, fragments: 1, fileTimeout: .seconds(60))
        bench.tell(
            .join("a", content(1, fragments: 2000), paused: false),
            .join("b", content(2, fragments: 2000), paused: false))
        bench.tell(.join("c", content(3), paused: true))
        bench.answer(.register)
        for _ in 0..<100 {
            bench.pass(.seconds(3))
            bench.answer(.send)
        }
        #expect(bench.outcomes.isEmpty)
        bench.run(for: .seconds(3600)) { _ in .failure(.unauthorized) }
        #expect(bench.outcomes.isEmpty)
        bench.tell(.credentialsChanged, .setPaused("c", content(3).key, false))
        bench.run()
        #expect(bench.outcomes.count == 3)
    }
}
