import Synchronization
import TestSupport
import Testing

@testable import Agent

@Suite("Shared work")
struct SharedWorkTests {
    /// Work that lasts until released or cancelled, and counts its starts and cancellations.
    private final class Bench: Sendable {
        struct Counts: Equatable {
            var begun = 0
            var cancelled = 0
        }

        let counts = Mutex(Counts())
        private let gate = Mutex(false)

        func work(_ key: String) async -> String {
            counts.withLock { $0.begun += 1 }
            do {
                try await Poll.until("the work to be let go") { gate.withLock { $0 } }
                return key
            } catch {
                counts.withLock { $0.cancelled += 1 }
                return "cancelled"
            }
        }

        func letGo() { gate.withLock { $0 = true } }

        func untilBegun(_ count: Int = 1) async throws {
            try await Poll.until("the work to begin") { counts.withLock(\.begun) == count }
        }

        func untilCancelled() async throws {
            try await Poll.until("the work to be cancelled") { counts.withLock(\.cancelled) == 1 }
        }
    }

    private let bench = Bench()
    private let shared: SharedWork<String, String>

    init() {
        shared = SharedWork(mostAtOnce: 2) { [bench] in await bench.work($0) }
    }

    private func asking(_ key: String = "a") -> Task<String?, Never> {
        Task { [shared] in await shared.value(for: key, patience: .seconds(60)) }
    }

    @Test("runs once for all callers")
    func once() async throws {
        let (first, second) = (asking(), asking())
        try await bench.untilBegun()
        bench.letGo()
        #expect(await first.value == "a")
        // The second caller may have come after the end of the work, which then ran again.
        #expect(await second.value == "a")
    }

    @Test("stops when the only waiter gives up, and starts over for the next caller")
    func alone() async throws {
        let only = asking()
        try await bench.untilBegun()
        only.cancel()
        try await bench.untilCancelled()
        #expect(await only.value == "cancelled")
        let next = asking()
        try await bench.untilBegun(2)
        bench.letGo()
        #expect(await next.value == "a")
    }

    @Test("continues until the last waiter gives up")
    func several() async throws {
        let first = asking()
        try await bench.untilBegun()
        let second = asking()
        try await Poll.until("both to wait") { shared.waiting(for: "a") == 2 }
        first.cancel()
        try await Poll.until("one to wait") { shared.waiting(for: "a") == 1 }
        #expect(bench.counts.withLock { $0 } == .init(begun: 1, cancelled: 0))
        second.cancel()
        try await bench.untilCancelled()
    }

    @Test("continues for a caller that will ask again later")
    func promised() async throws {
        #expect(await shared.value(for: "a", patience: .zero) == nil)
        try await bench.untilBegun()
        let other = asking()
        try await Poll.until("the other to wait") { shared.waiting(for: "a") == 1 }
        other.cancel()
        try await Poll.until("nobody to wait") { shared.waiting(for: "a") == 0 }
        bench.letGo()
        #expect(await other.value == "a")
        #expect(bench.counts.withLock { $0 } == .init(begun: 1, cancelled: 0))
    }

    @Test("keeps a caller waiting while all places are taken, and stops all work at the end")
    func full() async throws {
        let asked = [asking("a"), asking("b")]
        try await bench.untilBegun(2)
        #expect(await shared.value(for: "c", patience: .milliseconds(1)) == nil)
        #expect(bench.counts.withLock(\.begun) == 2)
        shared.stop()
        for task in asked { #expect(await task.value == "cancelled") }
    }
}
