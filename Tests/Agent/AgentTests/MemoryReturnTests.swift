import Synchronization
import TestSupport
import Testing

@testable import Agent

@Suite("Memory return")
struct MemoryReturnTests {
    @Test("returns memory after each time of work")
    func afterWork() async throws {
        let returns = Atomic(0)
        let memory = MemoryReturn(pause: .milliseconds(5)) { returns.add(1, ordering: .relaxed) }
        for expected in [1, 2] {
            memory.worked()
            try await Poll.until("return \(expected)") { returns.load(ordering: .relaxed) >= expected }
        }
    }
}
