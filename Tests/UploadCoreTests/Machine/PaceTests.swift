import Testing

@testable import UploadCore

@Suite("The pace")
struct PaceTests {
    private static let usual = UploadLimits(filesInFlight: 5, fragmentsInFlight: 4, retryInterval: .seconds(120))

    @Test(
        "is reduced to as many fragments as would have taken 15 s each",
        arguments: [
            (sharing: 5, took: 16, window: 4), (5, 30, 2), (5, 75, 1), (5, 260, 1), (5, 15, 5), (1, 52, 1), (2, 40, 1),
        ])
    func narrowed(sharing: Int, took: Int, window: Int) {
        var pace = Pace(Self.usual)
        pace.observe(.seconds(took), sharing: sharing)
        #expect(pace.window == window)
    }

    @Test("is not raised by a slow fragment that shared the link")
    func neverWidenedBySlow() {
        var pace = Pace(Self.usual)
        pace.observe(.seconds(60), sharing: 5)
        pace.observe(.seconds(16), sharing: 4)
        #expect(pace.window == 1)
    }

    @Test("is raised by quick fragments in a row, up to the limit")
    func widened() {
        var pace = Pace(Self.usual)
        pace.observe(.seconds(100), sharing: 5)
        var windows: [Int] = []
        for _ in 0..<10 {
            for _ in 0..<8 { pace.observe(.seconds(1), sharing: 1) }
            windows.append(pace.window)
        }
        #expect(windows == [2, 3, 4, 6, 9, 13, 19, 20, 20, 20])
    }

    @Test("is unchanged by fragments of medium duration")
    func stays() {
        var pace = Pace(Self.usual)
        for _ in 0..<100 {
            for _ in 0..<7 { pace.observe(.seconds(1), sharing: 5) }
            pace.observe(.seconds(10), sharing: 5)
        }
        #expect(pace.window == 5)
    }

    @Test("stays reduced on a slow link when limits change")
    func reload() {
        var pace = Pace(Self.usual)
        pace.observe(.seconds(100), sharing: 5)
        pace.setLimits(UploadLimits(filesInFlight: 10, fragmentsInFlight: 8, retryInterval: .seconds(1)))
        #expect(pace.window == 1)
    }

    @Test("follows the limits before any measurement")
    func unlearned() {
        var pace = Pace(UploadLimits(filesInFlight: 1, fragmentsInFlight: 1, retryInterval: .seconds(1)))
        #expect(pace.window == 1)
        pace.setLimits(Self.usual)
        #expect(pace.window == 5)
        pace.setLimits(UploadLimits(filesInFlight: 2, fragmentsInFlight: 1, retryInterval: .seconds(1)))
        #expect(pace.window == 2)
    }

    @Test("accepts extreme limits")
    func enormous() {
        let pace = Pace(UploadLimits(filesInFlight: .max, fragmentsInFlight: .max, retryInterval: .seconds(1)))
        #expect(pace.window == .max)
    }
}

@Suite("On a link that carries 10 KB/s")
struct SlowLinkTests {
    /// Answers the oldest fragment after the time it takes when all fragments share the link.
    private func sendOne(_ bench: inout Bench) {
        let sharing = bench.kinds.count(where: { $0 == .send })
        bench.pass(.seconds(52))
        bench.answer(.send, .took(.seconds(52 * sharing)))
    }

    private func narrowed(small: Int, large: Int) -> Bench {
        var bench = Bench()
        bench.tell(
            (1...10).map { .join(RelativePath("large\($0)") ?? .root, content($0, fragments: large), paused: false) })
        bench.answer(.register)
        for _ in 0..<6 { sendOne(&bench) }
        bench.tell(
            (11...13).map { .join(RelativePath("small\($0)") ?? .root, content($0, fragments: small), paused: false) })
        bench.answer(.register)
        return bench
    }

    @Test("one fragment of one file is in flight at a time")
    func oneAtATime() {
        var bench = narrowed(small: 1, large: 500)
        for _ in 0..<20 {
            sendOne(&bench)
            #expect(bench.kinds.count(where: { $0 == .send }) == 1)
        }
    }

    @Test("a small file gets through between turns of a large one")
    func smallBetween() {
        var bench = narrowed(small: 4, large: 500)
        for _ in 0..<40 {
            sendOne(&bench)
            while bench.kinds.contains(.finish) { bench.answer(.finish) }
        }
        #expect(bench.outcomes.keys.contains { $0.description.hasPrefix("small") })
    }

    @Test("a reload keeps the pace")
    func reload() {
        var bench = narrowed(small: 1, large: 500)
        bench.tell(.setLimits(UploadLimits(filesInFlight: 8, fragmentsInFlight: 8, retryInterval: .seconds(120))))
        sendOne(&bench)
        #expect(bench.kinds.count(where: { $0 == .send }) == 1)
    }

    @Test("all slots are used again once the link is fast")
    func fastAgain() {
        var bench = narrowed(small: 1, large: 5000)
        for _ in 0..<200 { bench.answer(.send, .took(.seconds(1))) }
        #expect(bench.kinds.count(where: { $0 == .send }) == 20)
    }
}
