import Synchronization
import TestSupport
import Testing

@testable import Agent

@Suite("Memory return")
struct MemoryReturnTests {
    @Test("returns memory once after each time of work")
    func atRest() async throws {
        let returns = Atomic(0)
        let memory = MemoryReturn(rest: .milliseconds(5)) { returns.add(1, ordering: .relaxed) }
        for expected in [1, 2] {
            memory.worked()
            try await Poll.until("return \(expected)") { returns.load(ordering: .relaxed) == expected }
        }
    }
}
