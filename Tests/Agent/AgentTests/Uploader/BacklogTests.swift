import AgentTestSupport
import Dispatch
import FileWatch
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Agent

@Suite("Uploader: queued watch events")
struct BacklogTests {
    private static let count = 300

    /// Returns an uploader whose thread is busy until `gate` opens, with the events of many files in its queue.
    private func busy(_ gate: DispatchSemaphore) async throws -> Bench {
        let bench = try await Bench(clock: .ahead(by: .seconds(3600), step: .milliseconds(5)))
        let paths = try (0..<Self.count).map { try bench.path("\($0).jpg") }
        for path in paths { try bench.write("\(path)", content(1)) }
        bench.uploader.run { _ in gate.wait() }
        bench.uploader.hear(paths.map { .seen($0) })
        return bench
    }

    private final class Answer: Sendable {
        let value = Mutex<Int?>(nil)
    }

    @Test("do not delay a request until all are handled")
    func turns() async throws {
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let bench = try await busy(gate)
        let answer = Answer()
        bench.uploader.run { uploader in answer.value.withLock { $0 = uploader.core.book.drops.count } }
        gate.signal()
        let handled = try await Poll.value("the answer") { answer.value.withLock { $0 } }
        #expect(handled < Self.count)
        try await Poll.until("all of them to be handled") {
            await bench.uploader.core { $0.book.drops.count } == Self.count
        }
    }

    @Test("are dropped when the agent ends")
    func end() async throws {
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let bench = try await busy(gate)
        let end = Task { await bench.uploader.stop() }
        try await Poll.until("the end to begin") { bench.uploader.hasStopped }
        gate.signal()
        await end.value
        #expect(await bench.uploader.core { $0.book.drops.isEmpty })
    }
}
