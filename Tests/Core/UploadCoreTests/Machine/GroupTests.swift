import Testing
import UploadCore

/// Returns the join events of files that belong together.
func joins(_ numbers: ClosedRange<UInt64>, fragments: Int = 1, paused: Bool = false) -> [MachineEvent] {
    numbers.map { .join(RelativePath("f\($0)") ?? .root, content($0, fragments: fragments), paused: paused) }
}

func gather(_ source: String, _ numbers: some Sequence<UInt64>) -> MachineEvent {
    .gather(source, numbers.map { content($0).key })
}

@Suite("Files of a source are registered together")
struct GroupRegistrationTests {
    private func key(_ number: UInt64) -> ContentKey { content(number).key }

    @Test("in one request without other files, in the order of the source")
    func oneRequest() {
        var bench = Bench()
        bench.tell(joins(1...20) + [gather("s", [12, 5, 7])])
        bench.run()
        #expect(bench.batches(.register) == [[1, 2, 3, 4], [12, 5, 7], [6, 8, 9, 10, 11] + Array(13...20)])
        #expect(bench.outcomes.count == 20)
    }

    @Test("in a request for each source, even for twenty sources of fifty files")
    func many() {
        var bench = Bench(files: 4)
        for source in 0..<20 as Range<UInt64> {
            let numbers = source * 50 + 1...source * 50 + 50
            bench.tell(joins(numbers, paused: true) + [gather("s\(source)", numbers)])
        }
        bench.tell((1...1000).map { .setPaused(RelativePath("f\($0)") ?? .root, key($0), false) })
        bench.run()
        let expected = (0..<20).map { source in (1...50).map { UInt64(source * 50 + $0) } }
        #expect(bench.batches(.register) == expected)
        #expect(bench.batches(.finish) == expected)
        #expect(bench.outcomes.count == 1000)
    }

    @Test("without files already on the server and without held files")
    func partly() {
        var bench = Bench()
        bench.tell(joins(1...1))
        bench.answer(.register)
        bench.tell(joins(2...3) + joins(4...4, paused: true) + [gather("s", 1...4)])
        #expect(bench.batches(.register) == [[1], [2, 3]])
        bench.answer(.register)
        bench.tell(.setPaused("f4", key(4), false))
        #expect(bench.batches(.register) == [[1], [2, 3], [4]])
    }

    @Test("together again after a failure, regardless of each file's pause", arguments: 1...5 as ClosedRange<UInt64>)
    func retried(seed: UInt64) {
        var bench = Bench(seed: seed)
        bench.tell(joins(1...30) + [gather("s", 1...30)])
        for _ in 0..<4 {
            bench.answer(.register, .failure(.busy))
            while !bench.kinds.contains(.register), let next = bench.machine.nextDeadline(after: bench.now.monotonic) {
                bench.pass(next - bench.now.monotonic)
            }
        }
        #expect(bench.batches(.register) == Array(repeating: Array(1...30), count: 5))
    }

    @Test("while files without a source continue")
    func othersGoOn() {
        var bench = Bench()
        bench.tell(joins(1...3) + [gather("s", 1...3)])
        bench.answer(.register, .failure(.cancelled))
        bench.tell(joins(4...5) + [.networkChanged])
        bench.run()
        #expect(bench.outcomes.count == 5)
        var slow = Bench()
        slow.tell(joins(1...3) + [gather("s", 1...3)])
        guard let request = slow.underWay.first else { return }
        slow.tell(
            .failed(request.id, key(1), .source("f1", .missing)), .failed(request.id, key(2), .source("f2", .missing)),
            .failed(request.id, key(3), .source("f3", .missing)))
        slow.tell(joins(4...5))
        #expect(slow.batches(.register).last == [4, 5])
    }

    @Test("one by one after a refused batch, and only the refused file fails")
    func refused() {
        var bench = Bench()
        bench.tell(joins(1...5) + [gather("s", 1...5)])
        bench.run { $0.kind == .register && $0.keys.contains(key(3)) ? .failure(.refused) : .success }
        #expect(bench.batches(.register) == [[1, 2, 3, 4, 5], [1], [2], [3], [4], [5]])
        #expect(bench.outcomes["f3"] == .failed(.refused))
        #expect(bench.batches(.finish) == [[1, 2, 4, 5]])
    }

    @Test("except a single file that the server forgot")
    func forgotten() {
        var bench = Bench(files: 1)
        bench.tell(joins(1...3, fragments: 2) + [gather("s", 1...3)])
        bench.answer(.register)
        bench.answer(.send, .failure(.forgotten))
        bench.run()
        #expect(bench.batches(.register) == [[1, 2, 3], [1]])
        #expect(bench.batches(.finish) == [[1, 2, 3]])
    }

    @Test("with the first of two sources while that source is under way")
    func shared() {
        var bench = Bench()
        bench.tell(joins(1...5) + [gather("s", 1...3), gather("t", [3, 4, 5])])
        bench.run()
        #expect(bench.batches(.register) == [[1, 2, 3], [4, 5]])
        // All files of the first source are complete, so the next source may claim the file.
        bench.tell([gather("t", [3, 4])] + joins(3...4))
        bench.run()
        #expect(bench.batches(.register).last == [3, 4])
    }

    @Test("only until the source releases them")
    func ungathered() {
        var bench = Bench()
        bench.tell(joins(1...2, paused: true) + [gather("s", 1...2)])
        bench.tell(gather("s", []))
        bench.tell(joins(1...3))
        #expect(bench.batches(.register) == [[1, 2, 3]])
    }

    @Test("also if the source is gathered again while its turn is postponed")
    func gatheredAnew() {
        var bench = Bench()
        bench.tell(joins(1...3) + [gather("s", 1...3)])
        guard let request = bench.underWay.first else { return }
        bench.tell(
            .credentialsChanged, .failed(request.id, key(1), .source("f1", .missing)),
            .failed(request.id, key(2), .unauthorized), .failed(request.id, key(3), .unauthorized))
        #expect(bench.underWay.isEmpty)
        bench.tell(gather("s", [2]), gather("t", [3]))
        bench.run(for: .milliseconds(100))
        #expect(bench.batches(.register) == [[1, 2, 3], [2], [3]])
        #expect(bench.outcomes.keys.sorted() == ["f2", "f3"])
    }

    @Test("in several requests if one request can't hold all files")
    func tooLarge() {
        var bench = Bench(RemoteTraits(batch: 3, lookahead: 50))
        bench.tell(joins(1...9) + [gather("s", [9, 8, 7, 6, 5, 4, 1])])
        bench.run()
        // The others need not wait for the answer to the first request.
        #expect(bench.batches(.register) == [[9, 8, 7], [2, 3], [6, 5, 4], [1]])
        #expect(bench.batches(.finish).joined().sorted() == Array(1...9))
        #expect(bench.outcomes.count == 9)
    }

    @Test("but separately if the protocol has one request per upload", arguments: [RemoteTraits.tus, .s3])
    func single(traits: RemoteTraits) {
        var bench = Bench(traits)
        bench.tell(joins(1...6) + [gather("s", 2...5)])
        bench.run()
        #expect(bench.batches(.register) == (1...6).map { [$0] })
        #expect(bench.outcomes.count == 6)
    }
}

@Suite("Files of a source are finished together")
struct GroupQuestionTests {
    private func key(_ number: UInt64) -> ContentKey { content(number).key }

    /// Returns a source with three files, complete except for the last file's second fragment.
    private func barred(fileTimeout: Duration? = nil) -> Bench {
        var bench = Bench(files: 3, fragments: 1, fileTimeout: fileTimeout)
        bench.tell(joins(1...2) + joins(3...3, fragments: 2) + [gather("s", 1...3)])
        bench.answer(.register)
        for _ in 0..<3 { bench.answer(.send) }
        return bench
    }

    @Test("once all are complete")
    func barrier() {
        var bench = barred()
        #expect(bench.kinds == [.send])
        #expect(bench.state(key(1), "f1") == .verifying)
        bench.pass(.seconds(100))
        #expect(bench.kinds == [.send])
        bench.answer(.send)
        #expect(bench.batches(.finish) == [[1, 2, 3]])
    }

    @Test("without files of other sources")
    func othersApart() {
        var bench = barred()
        bench.tell(joins(4...4))
        bench.answer(.register)
        bench.tell(bench.underWay.filter { $0.kind == .send }.flatMap { Reply.success.events(for: $0) })
        bench.run()
        #expect(bench.batches(.finish).map { $0.sorted() }.sorted { $0[0] < $1[0] } == [[1, 2, 3], [4]])
    }

    @Test("while other files do not wait for them")
    func othersGoOn() {
        var bench = barred()
        bench.tell(joins(4...5))
        bench.answer(.register)
        bench.run { $0.keys == [key(3)] ? .failure(.temporary(.busy, retryAfter: .seconds(5))) : .success }
        #expect(bench.outcomes.keys.sorted() == ["f4", "f5"])
    }

    enum Exit: CaseIterable { case leaves, isHeld, fails, isRefused, isTakenOut, changes }

    @Test("without a file that left", arguments: Exit.allCases)
    func released(exit: Exit) {
        var bench = barred()
        switch exit {
        case .leaves: bench.tell(.leave("f3", key(3)))
        case .isHeld: bench.tell(.setPaused("f3", key(3), true))
        case .fails: bench.answer(.send, .failure(.source("f3", .unreadable(.refused))))
        case .isRefused: bench.answer(.send, .failure(.refused))
        case .isTakenOut: bench.tell(gather("s", 1...2))
        case .changes: bench.answer(.send, .failure(.source("f3", .changed)))
        }
        bench.tell(.tick)
        #expect(bench.batches(.finish) == [[1, 2]])
        bench.answer(.finish)
        #expect(bench.outcomes["f1"] != nil && bench.outcomes["f2"] != nil)
    }

    @Test("again if the server is still assembling them, without confirmed files")
    func assembling() {
        var bench = Bench()
        bench.tell(joins(1...3) + [gather("s", 1...3)])
        bench.answer(.register)
        for _ in 0..<3 { bench.answer(.send) }
        guard let request = bench.underWay.first else { return }
        bench.tell(
            .finished(request.id, key(1), .assembling), .finished(request.id, key(3), .assembling),
            Reply.success.event(for: request, key(2)))
        bench.pass(.seconds(1))
        #expect(bench.batches(.finish) == [[1, 2, 3], [1, 3]])
        // After another answer, the pauses of the two uploads differ.
        guard let second = bench.underWay.first else { return }
        bench.tell(.finished(second.id, key(1), .assembling), .failed(second.id, key(3), .busy))
        bench.pass(.seconds(2))
        #expect(bench.batches(.finish).last == [1, 3])
    }

    @Test("with a file sent again after a failed assembly")
    func unassembled() {
        var bench = Bench()
        bench.tell(joins(1...3, fragments: 2) + [gather("s", 1...3)])
        bench.answer(.register)
        for _ in 0..<6 { bench.answer(.send) }
        guard let request = bench.underWay.first else { return }
        bench.tell(
            .finished(request.id, key(1), .assembling), .finished(request.id, key(2), .failed(.unassembled)),
            Reply.success.event(for: request, key(3)))
        bench.pass(.seconds(1))
        #expect(bench.batches(.send).count == 8)
        bench.pass(.seconds(60))
        #expect(bench.batches(.finish) == [[1, 2, 3]])
        bench.run()
        #expect(bench.batches(.finish) == [[1, 2, 3], [1, 2]])
        #expect(bench.outcomes.count == 3)
    }

    @Test("together again after a failure, regardless of each file's pause", arguments: 1...5 as ClosedRange<UInt64>)
    func retried(seed: UInt64) {
        var bench = Bench(seed: seed)
        bench.tell(joins(1...8) + [gather("s", 1...8)])
        var count = 0
        bench.run { request in
            count += request.kind == .finish ? 1 : 0
            return request.kind == .finish && count < 5 ? .failure(.busy) : .success
        }
        #expect(bench.batches(.finish) == Array(repeating: Array(1...8), count: 5))
    }

    @Test("one by one after a refused batch")
    func refused() {
        var bench = Bench()
        bench.tell(joins(1...4) + [gather("s", 1...4)])
        bench.run { $0.kind == .finish && $0.keys.contains(key(2)) ? .failure(.refused) : .success }
        #expect(bench.batches(.finish) == [[1, 2, 3, 4], [1], [2], [3], [4]])
        #expect(bench.outcomes["f2"] == .failed(.refused))
        #expect(bench.outcomes.count == 4)
    }

    @Test("without waiting for another source")
    func twoSources() {
        var bench = Bench()
        bench.tell(joins(1...4) + [gather("s", 1...2), gather("t", 3...4)])
        bench.run { $0.kind == .send && $0.keys == [key(2)] ? .failure(.busy) : .success }
        #expect(bench.outcomes.keys.sorted() == ["f3", "f4"])
        #expect(bench.batches(.finish) == [[3, 4]])
    }

    @Test("also if the server confirmed them earlier")
    func verified() {
        var bench = Bench()
        let old = RemoteObject(id: "old", url: nil)
        bench.tell((1...3).map { .verify(RelativePath("f\($0)") ?? .root, content($0), old, paused: false) })
        bench.tell(gather("s", 1...3))
        bench.run()
        #expect(bench.batches(.finish) == [[1, 2, 3]])
        #expect(bench.outcomes.count == 3)
    }

    @Test("also after a restart before the last file is complete")
    func restart() {
        let bench = barred()
        var later = bench.restarted(
            Dictionary(
                uniqueKeysWithValues: (1...3 as ClosedRange<UInt64>).map { number in
                    let path = RelativePath("f\(number)") ?? .root
                    return (key(number), [RestoredWaiter(path: path, paused: false, joinedLater: false)])
                }))
        later.tell(gather("s", 1...3))
        #expect(later.kinds == [.send])
        later.run()
        #expect(later.batches(.finish) == [[1, 2, 3]])
    }

    @Test("and the wait for the others does not count towards file_timeout")
    func noTimeout() {
        var bench = Bench(files: 1, fragments: 1, fileTimeout: .seconds(60))
        bench.tell(joins(1...1) + joins(2...2, fragments: 40) + [gather("s", 1...2)])
        bench.answer(.register)
        for _ in 0..<41 {
            bench.pass(.seconds(10))
            bench.answer(.send)
        }
        #expect(bench.batches(.finish) == [[1, 2]])
        bench.pass(.seconds(50))
        #expect(bench.outcomes.isEmpty)
        bench.run { _ in .failure(.busy) }
        #expect(bench.outcomes.count == 2)
    }
}
