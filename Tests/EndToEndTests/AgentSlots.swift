import EndToEndSupport
import Testing

/// Lets only a few tests of this target run at once: each has programs of its own, and a machine with two cores that
/// runs a hundred agents tests nothing but its scheduler.
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
            if waiting.isEmpty && free >= count {
                free -= count
                return
            }
            await withCheckedContinuation { waiting.append((count, $0)) }
        }

        func give(_ count: Int) {
            free += count
            while let first = waiting.first, free >= first.count {
                waiting.removeFirst()
                free -= first.count
                first.resume.resume()
            }
        }
    }

    static let total = 6
}

extension Trait where Self == AgentSlots {
    /// For tests that start an agent and little else.
    static var agents: Self { AgentSlots(count: 1) }
    /// For tests that keep the machine busy: nothing runs beside them.
    static var heavy: Self { AgentSlots(count: AgentSlots.total) }
}
