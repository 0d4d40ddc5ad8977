import Testing

@testable import UploadCore

@Suite("Protocols that send many blocks in one request")
struct StreamTests {
    private static let fragment = UInt64(RemoteTraits.stream.fragmentSize)
    private static let long = RemoteTraits(
        batch: 1, inOrder: true, asksBeforeResuming: true, fragmentSize: 64 << 20)
    private let large = content(1, bytes: 3 * Self.fragment)

    /// Returns a bench with the first fragment of `large` in flight.
    private func sending(files: Int = 5, fileTimeout: Duration? = nil) -> Bench {
        var bench = Bench(.stream, files: files, fileTimeout: fileTimeout)
        bench.tell(.join("a", large, paused: false))
        bench.answer(.register)
        return bench
    }

    /// Reports bytes of the oldest fragment in flight.
    private func pass(_ bytes: UInt64, _ bench: inout Bench) {
        guard let send = bench.underWay.first(where: { $0.kind == .send }) else {
            Issue.record("nothing is being sent")
            return
        }
        bench.tell(.passed(send.id, send.keys[0], bytes: bytes))
    }

    @Test("bytes under way count as progress, but complete nothing")
    func progress() {
        var bench = sending()
        pass(5 << 20, &bench)
        #expect(bench.view()?.acknowledgedBytes == 5 << 20)
        #expect(bench.view()?.fragments.finished == 10)
        pass(Self.fragment + 1000, &bench)
        #expect(bench.view()?.acknowledgedBytes == Self.fragment - 1)
        #expect(bench.kinds == [.send] && bench.ledger.acknowledged(large.key).count == 0)
        bench.answer(.send)
        #expect(bench.view()?.acknowledgedBytes == Self.fragment)
    }

    @Test("the server's offset overrides the bytes under way")
    func contradicted() {
        var bench = sending()
        pass(5 << 20, &bench)
        bench.answer(.send, .failure(.busy))
        bench.pass(.seconds(1))
        #expect(bench.view()?.acknowledgedBytes == 5 << 20)
        bench.answer(.resume, .offset(1 << 20))
        #expect(bench.view()?.acknowledgedBytes == 1 << 20)
        #expect(bench.underWay.map(\.skip) == [1 << 20])
    }

    @Test("bytes of a request that was given up count no more")
    func late() throws {
        var bench = sending()
        let send = try #require(bench.underWay.first)
        bench.tell(.setPaused("a", large.key, true))
        bench.tell(.passed(send.id, large.key, bytes: 1 << 20))
        #expect(bench.view()?.acknowledgedBytes == 0)
    }

    @Test("pauses stay short while the server's offset grows from one interruption to the next")
    func interrupted() {
        var bench = sending()
        for number in 1...12 as ClosedRange<UInt64> {
            pass(number << 20, &bench)
            bench.answer(.send, .failure(.busy))
            bench.pass(.seconds(1))
            #expect(bench.kinds == [.resume], "interruption \(number)")
            bench.answer(.resume, .offset(number << 20))
        }
    }

    @Test("a server that acknowledges and then forgets is asked after growing pauses")
    func acknowledgesAndForgets() {
        var bench = sending()
        var pauses: [Duration] = []
        for _ in 0..<8 {
            for _ in 0..<3 { bench.answer(.send) }
            let before = bench.now.monotonic
            bench.answer(.finish, .failure(.outOfStep(.busy)))
            while bench.underWay.isEmpty, let next = bench.machine.nextDeadline(after: bench.now.monotonic) {
                bench.pass(next - bench.now.monotonic)
            }
            pauses.append(bench.now.monotonic - before)
            bench.answer(.resume, .offset(0))
        }
        #expect(pauses[0] == .zero)
        #expect(pauses[7] > .seconds(30), "\(pauses)")
    }

    @Test("small files wait for no more than a turn of the large uploads that hold all slots", arguments: [1, 5])
    func turn(files: Int) throws {
        var bench = Bench(Self.long, files: files)
        let contents = (1...10 as ClosedRange<UInt64>).map { content($0, bytes: 256 << 20) }
        bench.tell(contents.map { .join(RelativePath("\($0.key.high)") ?? .root, $0, paused: false) })
        while bench.kinds.contains(.register) { bench.answer(.register) }
        #expect(bench.kinds == Array(repeating: .send, count: files))
        let small = content(99, bytes: 100_000)
        bench.tell(.join("small", small, paused: false))
        #expect(bench.kinds.contains(.register), "a small file is registered beside large ones that wait")
        bench.answer(.register)
        pass(31 << 20, &bench)
        #expect(bench.cancelled.isEmpty)
        pass(33 << 20, &bench)
        #expect(bench.cancelled.count == 1, "one request gave way")
        #expect(bench.underWay.contains { $0.keys == [small.key] })
        bench.run()
        #expect(bench.outcomes.count == 11)
    }

    @Test("requests are short once an interruption has cost many bytes, so that each may still end early")
    func costly() {
        var bench = Bench(Self.long, files: 1)
        #expect(bench.machine.longestRequest == nil)
        bench.tell(.join("a", content(1, bytes: 256 << 20), paused: false))
        bench.answer(.register)
        pass(12 << 20, &bench)
        bench.answer(.send, .failure(.busy))
        bench.pass(.seconds(1))
        bench.answer(.resume, .offset(0))
        let small = content(99, bytes: 100_000)
        bench.tell(.join("small", small, paused: false))
        bench.answer(.register)
        #expect(bench.machine.longestRequest == 4 << 20)
        pass(40 << 20, &bench)
        #expect(bench.cancelled.count == 1 && bench.underWay.contains { $0.keys == [small.key] })
    }

    @Test("requests are long again if the missing bytes were only late")
    func lateBytes() {
        var bench = Bench(Self.long, files: 1)
        bench.tell(.join("a", content(1, bytes: 256 << 20), paused: false))
        bench.answer(.register)
        pass(12 << 20, &bench)
        bench.answer(.send, .failure(.busy))
        bench.pass(.seconds(1))
        bench.answer(.resume, .offset(0))
        bench.answer(.send, .failure(.outOfStep(.busy)))
        bench.answer(.resume, .offset(12 << 20))
        #expect(bench.machine.longestRequest == nil)
    }

    @Test("a pause of everything also ends the request of an upload that gave its slot away")
    func pauseAll() {
        var bench = sending(files: 1)
        bench.answer(.send)
        bench.answer(.send)
        pass(10 << 20, &bench)
        let small = content(99, bytes: 100_000)
        bench.tell(.join("small", small, paused: false))
        bench.answer(.register)
        #expect(bench.kinds == [.send] && bench.machine.lingering.keys == [large.key])
        bench.tell(.setAllPaused(true))
        #expect(bench.underWay.isEmpty)
        bench.tell(.setAllPaused(false))
        bench.run()
        #expect(bench.outcomes.count == 2)
    }

    @Test("while a probe sends, others may begin as soon as the server took a mebibyte of it")
    func probe() {
        var bench = Bench(.stream, files: 2)
        bench.tell(
            .join("a", content(1, bytes: 2 * Self.fragment), paused: false),
            .join("b", content(2, bytes: 2 * Self.fragment), paused: false))
        while bench.kinds.contains(.register) { bench.answer(.register) }
        for _ in 0..<2 { bench.answer(.send, .failure(.busy)) }
        bench.pass(.seconds(2))
        while bench.kinds.contains(.resume) { bench.answer(.resume, .offset(0)) }
        #expect(bench.kinds == [.send])
        pass((1 << 20) - 1, &bench)
        #expect(bench.kinds == [.send])
        pass(1 << 20, &bench)
        #expect(bench.kinds == [.send, .send])
        #expect(bench.trouble.last == .some(nil))
    }

    @Test("the pauses still grow if each probe fails after the gate opened for it")
    func failingProbes() {
        var gate = Gate()
        var counts: [Int] = []
        let now = Bench().now
        func fail() {
            gate.fail(
                .unreachable, of: nil, error: .busy,
                pause: .init {
                    counts.append($0)
                    return .seconds(1)
                }, wasProbe: true, now: now)
        }
        for _ in 0..<3 {
            fail()
            gate.begin()
            gate.openEarly()
            #expect(gate.isOpen)
        }
        gate.succeed()
        fail()
        #expect(counts == [1, 2, 3, 1])
    }

    @Test("new bytes under way put file_timeout off, the same bytes again do not")
    func timeout() {
        var bench = sending(fileTimeout: .seconds(100))
        for number in 1...5 as ClosedRange<UInt64> {
            bench.pass(.seconds(60))
            pass(number << 20, &bench)
        }
        #expect(bench.outcomes["a"] == nil)
        for _ in 0..<30 where bench.outcomes["a"] == nil {
            if bench.kinds == [.send] {
                pass(5 << 20, &bench)
                bench.answer(.send, .failure(.busy))
            }
            bench.pass(.seconds(10))
            if bench.kinds == [.resume] { bench.answer(.resume, .offset(0)) }
        }
        guard case .failed(let error) = bench.outcomes["a"] else {
            Issue.record("\(String(describing: bench.outcomes["a"]))")
            return
        }
        #expect(error.code == "timed_out")
    }

    @Test("a slow link narrows the window during a request, a quick one widens the window again")
    func rate() {
        let limits = UploadLimits(filesInFlight: 5, fragmentsInFlight: nil, retryInterval: .seconds(120))
        var pace = Pace(limits)
        pace.observeStream(.seconds(600), bytes: 2 << 30, sharing: 5)
        #expect(pace.window == 5, "many bytes may take long")
        pace.observeStream(.seconds(40), bytes: 512 << 10, sharing: 5)
        #expect(pace.window == 1)
        pace.observeStream(.seconds(1), bytes: 1 << 20, sharing: 1)
        #expect(pace.window == 1, "too few bytes to tell")
        for _ in 0..<10 { pace.observeStream(.seconds(1), bytes: 8 << 20, sharing: 1) }
        #expect(pace.window == 5, "not wider than before")
    }

    @Test("bytes that the server had before a request do not count for its rate")
    func skipped() {
        var bench = sending(files: 5)
        bench.answer(.send, .failure(.busy))
        bench.pass(.seconds(1))
        bench.answer(.resume, .offset(Self.fragment - (512 << 10)))
        bench.answer(.send, .took(.seconds(100)))
        #expect(bench.machine.pace.window == 1)
    }

    @Test("a removal that the server can't perform now waits alone, and is no trouble of the server")
    func busyRemoval() {
        var bench = Bench(.tus, files: 5)
        for number in 1...3 as ClosedRange<UInt64> {
            bench.tell(.join(RelativePath("\(number)") ?? .root, content(number, fragments: 5), paused: false))
            bench.answer(.register)
            bench.tell(.leave(RelativePath("\(number)") ?? .root, content(number).key))
        }
        bench.answer(.remove, .failure(.busyUpload(.busy)))
        #expect(bench.kinds == [.remove], "the next removal")
        bench.answer(.remove)
        bench.answer(.remove)
        #expect(bench.underWay.isEmpty && bench.trouble.isEmpty && bench.ledger.removals.count == 1)
        bench.pass(.seconds(1))
        #expect(bench.kinds == [.remove])
        bench.answer(.remove)
        #expect(bench.ledger.removals.isEmpty && bench.machine.nextDeadline(after: bench.now.monotonic) == nil)
    }
}
