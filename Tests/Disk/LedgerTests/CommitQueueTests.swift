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

    @Test("takes a patient commit with the next other one")
    func company() {
        #expect(queue.add(commit(isPatient: true)))
        #expect(queue.add(commit()))
        #expect(queue.take(notBefore: 0).count == 2)
    }

    @Test("takes a patient commit that stays alone after its patience")
    func alone() {
        let before = monotonicNanoseconds()
        #expect(queue.add(commit(isPatient: true)))
        #expect(queue.take(notBefore: 0).count == 1)
        #expect(monotonicNanoseconds() >= before + CommitQueue.patience)
    }

    @Test("takes patient commits at once when it is closed")
    func closedEarly() {
        #expect(queue.add(commit(isPatient: true)))
        queue.close()
        #expect(queue.take(notBefore: 0).count == 1)
    }

    @Test("sees a burst only in several commits that can't wait")
    func burst() {
        let (urgent, patient) = (commit(), commit(isPatient: true))
        #expect([urgent, urgent].areBurst)
        #expect(![urgent].areBurst)
        #expect(![urgent, patient, patient].areBurst)
        #expect(![PendingCommit]().areBurst)
    }

    private func commit(isPatient: Bool = false) -> PendingCommit {
        PendingCommit(writes: [], isPatient: isPatient) { _ in }
    }
}
