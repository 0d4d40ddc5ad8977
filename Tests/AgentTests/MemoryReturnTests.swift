import Synchronization
import TestSupport
import Testing

@testable import Agent

@Suite("Memory return")
struct MemoryReturnTests {
    @Test("returns memory while the agent works and once more afterwards, then waits for more work")
    func rounds() async throws {
        let rounds = Atomic(0)
        let memory = MemoryReturn(pause: .milliseconds(5)) { rounds.add(1, ordering: .relaxed) }
        for expected in [2, 4] {
            memory.worked()
            try await Poll.until("round \(expected)") {
                rounds.load(ordering: .relaxed) == expected && !memory.isRunning
            }
        }
    }
}
