import Testing

@testable import FileWatch

@Suite struct ScanQueueTests {
    @Test func `a full scan is not at rest before it ended, though no directory waits`() {
        var scans = ScanQueue(nextFull: at(1000))
        #expect(scans.isAtRest)
        scans.wantFull()
        #expect(!scans.isAtRest)
        scans.beginFullIfDue(now: at(10))
        _ = scans.pop()
        #expect(scans.isIdle && !scans.isAtRest)
        let summary = scans.finishFull(now: at(30), pause: .seconds(60))
        #expect(scans.isAtRest)
        #expect(summary?.duration == .milliseconds(20))
        #expect(scans.nextFull == at(60_030))
    }

    @Test func `a full scan that waits for deferred files is at rest, and a requested one replaces it`() {
        var scans = ScanQueue(nextFull: at(0))
        scans.beginFullIfDue(now: at(0))
        _ = scans.pop()
        scans.waitForDeferred(through: 7, now: at(20))
        scans.waitForDeferred(through: 8, now: at(21))
        #expect(scans.awaited == 7 && scans.isAtRest)
        scans.beginFullIfDue(now: at(100))
        #expect(scans.isIdle)
        scans.wantFull()
        #expect(!scans.isAtRest)
        scans.beginFullIfDue(now: at(200))
        #expect(scans.awaited == nil && scans.pop()?.purpose == .full)
        #expect(scans.finishFull(now: at(300), pause: .zero)?.duration == .milliseconds(100))
    }

    @Test func `the pause after a long full scan is 20 times as long, however long deferred files waited`() {
        var scans = ScanQueue(nextFull: at(0))
        scans.beginFullIfDue(now: at(0))
        _ = scans.pop()
        scans.waitForDeferred(through: 1, now: at(10_000))
        _ = scans.finishFull(now: at(300_000), pause: .seconds(60))
        #expect(scans.nextFull == at(500_000))
    }

    @Test func `polling lasts until the last directory was taken`() {
        var scans = ScanQueue(nextFull: at(1000))
        #expect(!scans.isPolling)
        scans.push(1, .poll)
        scans.push(2, .poll)
        scans.push(3, .verify)
        for _ in 0..<2 { _ = scans.pop() }
        #expect(scans.isPolling)
        _ = scans.pop()
        #expect(!scans.isPolling && scans.isIdle)
    }

    @Test func `new directories come before those of the full scan`() {
        var scans = ScanQueue(nextFull: at(0))
        scans.beginFullIfDue(now: at(0))
        scans.push(1, .fresh)
        #expect(scans.pop()?.purpose == .fresh)
        #expect(scans.pop()?.purpose == .full)
    }
}
