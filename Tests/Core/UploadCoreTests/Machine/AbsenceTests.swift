import Testing
import UploadCore

@Suite("A server that does not answer")
struct AbsenceTests {
    private static let gone = RemoteFailure.temporary(.busy, outlook: .away)

    /// Returns the pauses between failing requests of one kind.
    private func pauses(
        _ bench: inout Bench, _ kind: Begun.Kind, _ failure: RemoteFailure, count: Int
    ) -> [Duration] {
        var pauses: [Duration] = []
        for _ in 0..<count {
            bench.answer(kind, .failure(failure))
            let start = bench.now.monotonic
            while !bench.kinds.contains(kind), let next = bench.machine.nextDeadline(after: bench.now.monotonic) {
                bench.pass(next - bench.now.monotonic)
            }
            pauses.append(bench.now.monotonic - start)
        }
        return pauses
    }

    /// Returns a machine that is about to send a request of this kind, to a server that answered before.
    private func bench(_ kind: Begun.Kind) -> Bench {
        var bench = Bench()
        bench.tell(.join("earlier", content(7), paused: false))
        bench.run()
        bench.tell(.join("a", content(1), paused: false))
        if kind != .register { bench.answer(.register) }
        if kind == .finish { bench.answer(.send) }
        return bench
    }

    @Test(
        "but answered recently is tried at most every 15 s",
        arguments: [Begun.Kind.register, .send, .finish])
    func lately(kind: Begun.Kind) {
        var bench = bench(kind)
        let pauses = pauses(&bench, kind, Self.gone, count: 60)
        for pause in pauses { #expect(pause <= .milliseconds(15_002)) }
        for pause in pauses.dropFirst(5) { #expect(pause >= .seconds(11)) }
    }

    @Test("and never answered is tried at retry_interval")
    func never() {
        var bench = Bench()
        bench.tell(.join("a", content(1), paused: false))
        #expect(pauses(&bench, .register, Self.gone, count: 10).last.map { $0 >= .seconds(90) } == true)
    }

    @Test("for an hour is tried at retry_interval")
    func long() {
        var bench = bench(.send)
        #expect(pauses(&bench, .send, Self.gone, count: 400).last.map { $0 >= .seconds(90) } == true)
    }

    @Test(
        "successfully, but does answer, is tried at retry_interval",
        arguments: [
            RemoteFailure.busy, .temporary(.busy, outlook: .lasting), .unauthorized,
            .temporary(.busy, retryAfter: .seconds(119), outlook: .away),
        ])
    func answers(failure: RemoteFailure) {
        var bench = bench(.send)
        #expect(pauses(&bench, .send, failure, count: 10).last.map { $0 >= .seconds(90) } == true)
    }

    @Test("to a commit is also tried at most every 15 s")
    func commit() {
        var bench = bench(.send)
        bench.run()
        let commit = SourceCommit(
            sourceID: "s", revision: 1, title: "t", cover: nil, fileIDs: ["1"], createdAt: WallTime(milliseconds: 0))
        bench.tell(.commit(commit, forgotten: 0))
        for pause in pauses(&bench, .commit, Self.gone, count: 20) { #expect(pause <= .milliseconds(15_002)) }
    }

    @Test("for a time is found within 15 s of its return, with at most 30 requests a minute", arguments: 1...60)
    func outages(seed: UInt64) {
        var random = WalkRandom(seed: seed)
        var bench = Bench(seed: seed)
        bench.tell(.join("first", content(1), paused: false))
        bench.run()
        var number: UInt64 = 1
        for _ in 0..<4 {
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                number += 1
                let path = RelativePath("f\(number)") ?? .root
                bench.tell(
                    .join(path, content(number, fragments: Int.random(in: 1...40, using: &random)), paused: false))
            }
            bench.run(for: .milliseconds(Int.random(in: 0...400, using: &random)))
            let start = bench.now.monotonic
            let length = Duration.seconds(Int.random(in: 1...3000, using: &random))
            bench.run(for: length) { _ in .failure(Self.gone) }
            if bench.now.monotonic - start < length { bench.pass(length - (bench.now.monotonic - start)) }
            checkRate(of: bench, from: start + .seconds(60), to: bench.now.monotonic)

            let back = bench.now.monotonic
            let begun = bench.begun.count
            let wasAsked = !bench.underWay.isEmpty
            bench.run(for: .seconds(60))
            if !wasAsked, let first = bench.begun.dropFirst(begun).first {
                #expect(first.at - back <= .seconds(15), "seed \(seed)")
            }
            #expect(bench.outcomes.count == Int(number), "seed \(seed)")
            #expect((bench.begun.last?.at ?? back) - back < .seconds(31), "seed \(seed)")
        }
    }

    private func checkRate(of bench: Bench, from start: MonotonicTime, to end: MonotonicTime) {
        var times = bench.begun.map(\.at).filter { $0 > start && $0 < end }[...]
        while let first = times.popFirst() {
            #expect(times.prefix { $0 - first < .seconds(60) }.count < 30)
        }
    }
}
