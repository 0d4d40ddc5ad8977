import EndToEndSupport
import Foundation
import Testing

/// Lets only a few tests of this target run at once: each has programs of its own, and a machine with two cores that
/// runs a hundred agents tests nothing but its scheduler. Most tests wait for a pause to end rather than compute, so
/// there are several slots for each core.
struct AgentSlots: TestTrait, SuiteTrait, TestScoping {
    var isRecursive: Bool { true }

    /// How many slots a test takes; a heavy one takes them all.
    let count: Int

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A suite's own scope is entered once around all its tests, which take slots themselves.
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

        /// Heavy tests come last: all others would have to end before each of them, and slots stand empty meanwhile.
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

    /// `OUTBOX_TEST_AGENTS` says otherwise for a machine of another size.
    static let total =
        ProcessInfo.processInfo.environment["OUTBOX_TEST_AGENTS"].flatMap { Int($0) }.map { max(1, $0) } ?? 12
}

extension Trait where Self == AgentSlots {
    /// For tests that start an agent and little else.
    static var agents: Self { AgentSlots(count: 1) }
    /// For tests that keep the machine busy, or need it to be quick: nothing runs beside them.
    static var heavy: Self { AgentSlots(count: AgentSlots.total) }
}
