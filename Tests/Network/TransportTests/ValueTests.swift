import Testing

@testable import Transport

struct ProgressWatchTests {
    private let second: UInt64 = 1_000_000_000

    private func seen(
        written: Int64 = 0, held: Int = 0, complete: Bool = false, connected: Bool = true, throttled: Bool = false
    ) -> ProgressWatch.Observation {
        .init(
            connected: connected, written: written, unacknowledged: held, complete: complete, throttled: throttled)
    }

    @Test func `sending without a byte moved for the timeout is a stall`() {
        var watch = ProgressWatch(stall: .seconds(3), reply: .seconds(100))
        #expect(watch.observe(seen(written: 10), at: 0) == .fine)
        #expect(watch.observe(seen(written: 10), at: 3 * second - 1) == .fine)
        #expect(watch.observe(seen(written: 10), at: 3 * second) == .stalled)
    }

    @Test func `a byte moved starts the time anew`() {
        var watch = ProgressWatch(stall: .seconds(3), reply: .seconds(100))
        #expect(watch.observe(seen(written: 10), at: 0) == .fine)
        #expect(watch.observe(seen(written: 11), at: 3 * second) == .fine)
        #expect(watch.observe(seen(written: 11), at: 6 * second) == .stalled)
    }

    @Test func `what the kernel gets rid of over minutes is progress, whatever the reply timeout`() {
        var watch = ProgressWatch(stall: .seconds(3), reply: .seconds(5))
        for step in 0..<100 {
            let now = UInt64(step) * 2 * second
            #expect(watch.observe(seen(written: 1000, held: 1000 - step * 10, complete: true), at: now) == .fine)
        }
        #expect(watch.observe(seen(written: 1000, held: 10, complete: true), at: 202 * second) == .stalled)
    }

    @Test func `the reply timeout counts from the acknowledgement of the last byte`() {
        var watch = ProgressWatch(stall: .seconds(3), reply: .seconds(5))
        #expect(watch.observe(seen(written: 10, held: 4, complete: true), at: 0) == .fine)
        #expect(watch.observe(seen(written: 10, complete: true), at: 2 * second) == .fine)
        #expect(watch.observe(seen(written: 10, complete: true), at: 7 * second - 1) == .fine)
        #expect(watch.observe(seen(written: 10, complete: true), at: 7 * second) == .replyOverdue)
    }

    @Test func `the reply timeout counts from the last byte sent`() {
        var watch = ProgressWatch(stall: .seconds(1), reply: .seconds(5))
        #expect(watch.observe(seen(), at: 0) == .fine)
        #expect(watch.observe(seen(written: 10, complete: true), at: second / 2) == .fine)
        #expect(watch.observe(seen(written: 10, complete: true), at: 5 * second) == .fine)
        #expect(watch.observe(seen(written: 10, complete: true), at: 11 * second / 2) == .replyOverdue)
    }

    @Test func `neither connecting nor being throttled is a stall`() {
        var watch = ProgressWatch(stall: .seconds(1), reply: .seconds(1))
        #expect(watch.observe(seen(connected: false), at: 0) == .fine)
        #expect(watch.observe(seen(connected: false), at: 9 * second) == .fine)
        #expect(watch.observe(seen(throttled: true), at: 10 * second) == .fine)
        #expect(watch.observe(seen(throttled: true), at: 19 * second) == .fine)
        #expect(watch.observe(seen(), at: 19 * second + 1) == .fine)
    }
}

struct NetworkNewsTests {
    private static let news = NetworkNews(gone: ["192.0.2.1"], returned: ["192.0.2.2"])

    @Test(
        "A transfer goes on unless its connection has no future",
        arguments: [
            (.init(localAddress: "192.0.2.3"), .goOn),
            (.init(localAddress: "192.0.2.2"), .goOn),
            (.init(localAddress: "192.0.2.2", silence: .milliseconds(2999)), .goOn),
            (.init(localAddress: "192.0.2.3", silence: .seconds(60)), .goOn),
            (.init(localAddress: "192.0.2.3", isBackingOff: true), .startOver),
            (.init(localAddress: "192.0.2.2", isBackingOff: true), .startOver),
            (.init(localAddress: nil), .startOver),
            (
                .init(localAddress: "192.0.2.2", silence: .seconds(3)),
                .fail("the link of 192.0.2.2 was down, so the reply may be lost")
            ),
            (
                .init(localAddress: "192.0.2.1", isBackingOff: true),
                .fail("the network changed: the local address 192.0.2.1 is gone")
            ),
        ] as [(NetworkNews.Connection, NetworkNews.Verdict)])
    func verdict(connection: NetworkNews.Connection, verdict: NetworkNews.Verdict) {
        #expect(Self.news.verdict(on: connection) == verdict)
    }

    @Test func `the other end is silent from the moment it has the whole request`() {
        let second: UInt64 = 1_000_000_000
        var watch = ProgressWatch(stall: .seconds(30), reply: .seconds(600))
        func observe(written: Int64, held: Int, complete: Bool, at now: UInt64) -> Duration? {
            _ = watch.observe(
                .init(connected: true, written: written, unacknowledged: held, complete: complete, throttled: false),
                at: now)
            return watch.silence(at: now)
        }
        #expect(watch.silence(at: 0) == nil)
        #expect(observe(written: 5, held: 0, complete: false, at: second) == nil)
        #expect(observe(written: 10, held: 4, complete: true, at: 2 * second) == nil)
        #expect(observe(written: 10, held: 0, complete: true, at: 3 * second) == .zero)
        #expect(observe(written: 10, held: 0, complete: true, at: 8 * second) == .seconds(5))
    }
}

struct TokenBucketTests {
    private let second: UInt64 = 1_000_000_000

    @Test func `what is taken over time is the rate`() {
        var bucket = TokenBucket(rate: 1000, now: 0)
        var taken: UInt64 = 0
        for step in 1...200 {
            bucket.refill(at: UInt64(step) * second / 20, inDemand: true)
            taken += bucket.take(atMost: .max)
        }
        #expect(taken == 10_000)
    }

    @Test func `rates below a byte per look lose nothing`() {
        var bucket = TokenBucket(rate: 3, now: 0)
        var taken: UInt64 = 0
        for step in 1...2000 {
            bucket.refill(at: UInt64(step) * second / 100, inDemand: true)
            taken += bucket.take(atMost: .max)
        }
        #expect((58...60).contains(taken))
    }

    @Test func `an idle bucket saves a tenth of a second and no more`() {
        var bucket = TokenBucket(rate: 1000, now: 0)
        bucket.refill(at: 3600 * second, inDemand: false)
        #expect(bucket.take(atMost: .max) == 100)
        #expect(bucket.take(atMost: .max) == 0)
    }

    @Test func `a clock that seems to go back gives nothing`() {
        var bucket = TokenBucket(rate: 1000, now: second)
        bucket.refill(at: 0, inDemand: true)
        #expect(bucket.available == 0)
    }
}

struct TransportErrorTests {
    @Test func `a message with a proxy's password is replaced`() {
        let message = TransportError.message("Unsupported proxy scheme for 'socks9://me:secret@proxy'", or: "no proxy")
        #expect(message == "no proxy")
    }

    @Test func `any other message stands, and an empty one is replaced`() {
        #expect(TransportError.message("refused", or: "general") == "refused")
        #expect(TransportError.message("", or: "general") == "general")
    }
}
