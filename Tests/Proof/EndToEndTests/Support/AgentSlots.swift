import Foundation
import Testing

/// Limits how many tests of this target run at once. Each test has programs of its own, and a hundred agents on two
/// cores would test only the scheduler. Most tests wait rather than compute, so each core has several slots.
struct AgentSlots: TestTrait, SuiteTrait, TestScoping {
    var isRecursive: Bool { true }

    /// The number of slots that a test takes.
    let count: Int

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // The scope of a suite is entered once around all its tests, which take slots themselves.
        guard testCase != nil else { return try await function() }
        await Slots.shared.take(count)
        do {
            try await function()
        } catch {
            await Slots.shared.give(count)
            throw error
        }
        await Slots.shared.give(count)
    }

    private actor Slots {
        static let shared = Slots(free: AgentSlots.total)
        private var free: Int
        private var waiting: [(count: Int, resume: CheckedContinuation<Void, Never>)] = []

        init(free: Int) { self.free = free }

        func take(_ count: Int) async {
            if free >= count && !waiting.contains(where: { $0.count <= count }) {
                free -= count
                return
            }
            await withCheckedContinuation { waiting.append((count, $0)) }
        }

        /// Runs tests that need more slots later: slots stay free until enough are.
        func give(_ count: Int) {
            free += count
            while let fewest = waiting.map(\.count).min(), fewest <= free,
                let next = waiting.firstIndex(where: { $0.count == fewest })
            {
                free -= fewest
                waiting.remove(at: next).resume.resume()
            }
        }
    }

    /// `OUTBOX_TEST_AGENTS` overrides the number of slots for other machines.
    static let total =
        ProcessInfo.processInfo.environment["OUTBOX_TEST_AGENTS"].flatMap { Int($0) }.map { max(1, $0) } ?? 12
}

extension Trait where Self == AgentSlots {
    /// For tests that start an agent and little else.
    static var agents: Self { AgentSlots(count: 1) }
    /// For tests that keep a core busy: half of the slots stay for other tests.
    static var busy: Self { AgentSlots(count: max(1, AgentSlots.total / 2)) }
    /// For tests that load the machine or measure time: nothing runs beside them.
    static var heavy: Self { AgentSlots(count: AgentSlots.total) }
}
