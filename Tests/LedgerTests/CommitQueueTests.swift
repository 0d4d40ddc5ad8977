import LinuxSystem
import Testing

@testable import Ledger

@Suite("Commit queue")
struct CommitQueueTests {
    private let queue = CommitQueue()

    @Test("lets commits gather until the given time")
    func gathers() {
        #expect(queue.add(commit()))
        let earliest = monotonicNanoseconds() + 50_000_000
        #expect(queue.take(notBefore: earliest).count == 1)
        #expect(monotonicNanoseconds() >= earliest)
    }

    @Test("lets nothing gather once it is closed")
    func closed() {
        #expect(queue.add(commit()))
        queue.close()
        let hour: UInt64 = 3600 * 1_000_000_000
        #expect(queue.take(notBefore: monotonicNanoseconds() + hour).count == 1)
        #expect(queue.take(notBefore: 0).isEmpty)
    }

    private func commit() -> PendingCommit { PendingCommit(writes: []) { _ in } }
}
