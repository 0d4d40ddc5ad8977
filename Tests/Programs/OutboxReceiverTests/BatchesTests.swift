import Glibc
import Synchronization
import TestSupport
import Testing

@testable import OutboxReceiver

@Suite struct BatchesTests {
    private final class Log: Sendable {
        let batches = Mutex<[[String]]>([])
        let isOpen = Atomic(false)
        /// How many items of a batch it processes.
        let most: Int

        init(most: Int = .max) { self.most = most }

        /// Holds the first batch until the test opens it, so that the others gather.
        @Sendable func process(_ items: [String]) -> Int {
            batches.withLock { $0.append(items) }
            while !isOpen.load(ordering: .acquiring) { usleep(1000) }
            return min(items.count, most)
        }
    }

    @Test func ownersHaveTheSameShareOfEachBatch() async throws {
        let (batches, log) = (Batches<String>(most: 4), Log())
        batches.add("first", of: "x", log.process)
        try await Poll.until("the first batch") { log.batches.withLock { $0.count == 1 } }
        var last: Batches<String>.Ticket?
        for number in 1...6 { last = batches.add("a\(number)", of: "a", log.process) }
        for number in 1...2 { batches.add("b\(number)", of: "b", log.process) }
        let ticket = batches.add("c1", of: "c", log.process)
        #expect(batches.count == 9)
        log.isOpen.store(true, ordering: .releasing)
        await batches.wait(for: ticket)
        await batches.waitForAll(of: "a")
        await batches.wait(for: try #require(last))
        #expect(
            log.batches.withLock(\.self) == [
                ["first"], ["a1", "b1", "c1", "a2"], ["b2", "a3", "a4", "a5"], ["a6"],
            ])
        #expect(batches.count == 0)
    }

    @Test func anOwnerDoesNotWaitForOthers() async throws {
        let (batches, log) = (Batches<String>(most: 4), Log())
        defer { log.isOpen.store(true, ordering: .releasing) }
        batches.add("first", of: "a", log.process)
        try await Poll.until("the first batch") { log.batches.withLock { $0.count == 1 } }
        await batches.waitForAll(of: "b")
        #expect(log.batches.withLock(\.count) == 1)
    }

    @Test func itemsThatABatchLeavesComeFirstInALaterOne() async throws {
        let (batches, log) = (Batches<String>(most: 4), Log(most: 2))
        batches.add("first", of: "x", log.process)
        try await Poll.until("the first batch") { log.batches.withLock { $0.count == 1 } }
        for number in 1...4 { batches.add("a\(number)", of: "a", log.process) }
        let ticket = batches.add("b1", of: "b", log.process)
        log.isOpen.store(true, ordering: .releasing)
        await batches.wait(for: ticket)
        await batches.waitForAll(of: "a")
        #expect(log.batches.withLock(\.self) == [["first"], ["a1", "b1", "a2", "a3"], ["a2", "a3", "a4"], ["a4"]])
        #expect(batches.count == 0)
    }
}
