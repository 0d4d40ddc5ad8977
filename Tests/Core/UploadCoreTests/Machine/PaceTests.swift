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
        pace.observe(.seconds(took), bytes: 512 << 10, sharing: sharing)
        #expect(pace.window == window)
    }

    @Test(
        "judges larger fragments by their rate, as long as they take less than two minutes",
        arguments: [
            (mebibytes: 1, took: 30, window: 5), (1, 31, 4), (8, 100, 5), (8, 120, 5), (8, 240, 2), (160, 120, 5),
            (160, 300, 2), (160, 1000, 1),
        ])
    func largeFragments(mebibytes: Int, took: Int, window: Int) {
        var pace = Pace(Self.usual)
        pace.observe(.seconds(took), bytes: mebibytes << 20, sharing: 5)
        #expect(pace.window == window)
    }

    /// A part of 8 MiB takes 6.7 s alone on such a link.
    @Test("is not reduced to one for parts of 8 MiB on a link of 10 Mbit/s")
    func partsOfMebibytes() {
        var pace = Pace(Self.usual)
        for _ in 0..<100 {
            let sharing = pace.window
            pace.observe(.milliseconds(6700 * sharing), bytes: 8 << 20, sharing: sharing)
        }
        #expect((5...8).contains(pace.window), "\(pace.window)")
    }

    @Test("is not raised by a slow fragment that shared the link")
    func neverWidenedBySlow() {
        var pace = Pace(Self.usual)
        pace.observe(.seconds(60), bytes: 512 << 10, sharing: 5)
        pace.observe(.seconds(16), bytes: 512 << 10, sharing: 4)
        #expect(pace.window == 1)
    }

    @Test("is raised by quick fragments in a row, up to the limit")
    func widened() {
        var pace = Pace(Self.usual)
        pace.observe(.seconds(100), bytes: 512 << 10, sharing: 5)
        var windows: [Int] = []
        for _ in 0..<10 {
            for _ in 0..<8 { pace.observe(.seconds(1), bytes: 512 << 10, sharing: 1) }
            windows.append(pace.window)
        }
        #expect(windows == [2, 3, 4, 6, 9, 13, 19, 20, 20, 20])
    }

    @Test("is unchanged by fragments of medium duration")
    func stays() {
        var pace = Pace(Self.usual)
        for _ in 0..<100 {
            for _ in 0..<7 { pace.observe(.seconds(1), bytes: 512 << 10, sharing: 5) }
            pace.observe(.seconds(10), bytes: 512 << 10, sharing: 5)
        }
        #expect(pace.window == 5)
    }

    @Test("stays reduced on a slow link when limits change")
    func reload() {
        var pace = Pace(Self.usual)
        pace.observe(.seconds(100), bytes: 512 << 10, sharing: 5)
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

@Suite("The automatic pace")
struct AutomaticPaceTests {
    private static let limits = UploadLimits(filesInFlight: 5, fragmentsInFlight: nil, retryInterval: .seconds(120))

    /// Returns the window after many rounds in which every fragment in flight is acknowledged.
    ///
    /// - Parameter took: the milliseconds that a fragment takes with so many in flight.
    private func window(
        after rounds: Int = 100, from pace: Pace = Pace(limits), bytes: Int = 64 << 10, took: (Int) -> Int
    ) -> Int {
        var pace = pace
        for _ in 0..<rounds {
            let sharing = pace.window
            for _ in 0..<sharing { pace.observe(.milliseconds(took(sharing)), bytes: bytes, sharing: sharing) }
        }
        return pace.window
    }

    @Test("grows to the ceiling while round trips limit the rate")
    func longLink() {
        #expect(window { _ in 60 } == UploadLimits.automaticMost)
    }

    @Test("grows to the ceiling within a second on a round trip of 60 ms")
    func rampUp() {
        #expect(window(after: 16) { _ in 60 } == UploadLimits.automaticMost)
    }

    @Test("grows while fragments take less time than the agent between two of them", arguments: [1, 2, 4, 20])
    func turnaround(alone: Int) {
        var pace = Pace(Self.limits)
        pace.observe(.milliseconds(alone), bytes: 64 << 10, sharing: 1)
        let enough = max(5, Int(Pace.turnaround / .milliseconds(alone)))
        let window = window(from: pace) { alone * $0 }
        // One round may widen the window twice.
        #expect((enough...enough * 2).contains(window), "\(window)")
    }

    @Test("stays narrow where fragments only wait for each other", arguments: [20, 100])
    func busyServer(alone: Int) {
        var pace = Pace(Self.limits)
        pace.observe(.milliseconds(alone), bytes: 64 << 10, sharing: 1)
        #expect(window(from: pace) { alone * $0 } == 5)
    }

    @Test("ends near three times the bandwidth-delay product")
    func product() {
        // 12 fragments fill the link: each takes 60 ms until then, and 5 ms more for each one beyond.
        let window = window { max(60, $0 * 5) }
        #expect((24...36).contains(window), "\(window)")
    }

    @Test("compares fragments with others of their size only")
    func sizes() {
        var pace = Pace(Self.limits)
        pace.observe(.milliseconds(1), bytes: 1000, sharing: 1)
        #expect(window(from: pace, bytes: 512 << 10) { _ in 300 } == UploadLimits.automaticMost)
    }

    @Test("returns to its start when fragments begin to wait for each other")
    func narrows() {
        var pace = Pace(Self.limits)
        for _ in 0..<200 { pace.observe(.milliseconds(60), bytes: 64 << 10, sharing: 32) }
        #expect(pace.window == UploadLimits.automaticMost)
        #expect(window(from: pace) { _ in 2000 } == 5)
    }

    @Test("measures anew when the network changes")
    func networkChange() {
        var pace = Pace(Self.limits)
        pace.observe(.milliseconds(15), bytes: 64 << 10, sharing: 1)
        #expect(window(from: pace) { _ in 60 } == 5)
        pace.networkChanged()
        #expect(window(from: pace) { _ in 60 } == UploadLimits.automaticMost)
    }

    @Test("does not grow while the window is not full")
    func notFull() {
        var pace = Pace(Self.limits)
        for _ in 0..<100 { pace.observe(.milliseconds(60), bytes: 64 << 10, sharing: 2) }
        #expect(pace.window == 5)
    }

    @Test("is one on a link that carries 10 KB/s")
    func slow() {
        #expect(window(bytes: 512 << 10) { $0 * 52_000 } == 1)
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
