import AgentTestSupport
import Reports
import TestSupport
import Testing
import UploadCore

@testable import ControlAPI

@Suite("Events")
struct EventTests {
    private static func report(_ state: FileState, progress: Double = 0, path: String = "a.jpg") throws -> FileReport {
        var report = try FileReport.sample(path, state)
        report.progress = progress
        return report
    }

    // MARK: What becomes an event

    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    @Test("A change of state is an event at once, a repeated state is not")
    func states() throws {
        var pacing = EventPacing<FileReport>(generation: 4096)
        let queued = try Self.report(.queued)
        let uploading = try Self.report(.uploading)
        #expect(pacing.news(in: queued, now: start) == .first)
        #expect(pacing.news(in: queued, now: start) == nil)
        #expect(pacing.news(in: uploading, now: start) == .state)
    }

    @Test("A new error in the same state is an event")
    func errors() throws {
        var pacing = EventPacing<FileReport>(generation: 4096)
        var report = try Self.report(.waiting)
        _ = pacing.news(in: report, now: start)
        report.error = FileError(code: "server_error", message: "no", retryable: true)
        #expect(pacing.news(in: report, now: start) == .state)
    }

    @Test("Dimensions that become known are an event at once: a file at rest has no other one")
    func dimensions() throws {
        var pacing = EventPacing<FileReport>(generation: 4096)
        var report = try Self.report(.paused)
        _ = pacing.news(in: report, now: start)
        report.facts.width = 640
        #expect(pacing.news(in: report, now: start) == .facts)
        #expect(pacing.news(in: report, now: start) == nil)
    }

    @Test("Progress is an event at most once a second, in steps of one per cent")
    func progress() throws {
        var pacing = EventPacing<FileReport>(generation: 4096)
        _ = pacing.news(in: try Self.report(.uploading, progress: 0.1), now: start)
        let step = try Self.report(.uploading, progress: 0.2)
        #expect(pacing.news(in: step, now: start + .milliseconds(900)) == nil)
        #expect(pacing.news(in: step, now: start + .seconds(1)) == .progress)
        let little = try Self.report(.uploading, progress: 0.2001)
        #expect(pacing.news(in: little, now: start + .seconds(3)) == nil)
    }

    @Test("Slow progress is an event every five seconds")
    func slowProgress() throws {
        var pacing = EventPacing<FileReport>(generation: 4096)
        _ = pacing.news(in: try Self.report(.uploading, progress: 0.2), now: start)
        let little = try Self.report(.uploading, progress: 0.2001)
        #expect(pacing.news(in: little, now: start + .seconds(5)) == .progress)
        #expect(pacing.news(in: little, now: start + .seconds(60)) == nil)
    }

    @Test("The memory of paths is bounded")
    func bounded() throws {
        var pacing = EventPacing<FileReport>(generation: 10)
        for index in 0..<1000 {
            _ = pacing.news(in: try Self.report(.queued, path: "\(index).jpg"), now: start)
            #expect(pacing.count <= 20)
        }
        // The pacing still knows the last paths.
        #expect(pacing.news(in: try Self.report(.queued, path: "999.jpg"), now: start) == nil)
    }

    // MARK: The ring

    @Test("The ring returns the events after a number")
    func ring() {
        var ring = EventRing(capacity: 4)
        for number in 1...3 { ring.add(.problem(code: "\(number)", message: nil)) }
        let expected = [2, 3].map { EventHub.Event(number: $0, content: .problem(code: "\($0)", message: nil)) }
        #expect(ring.news(after: 1) == .events(expected))
        #expect(ring.news(after: 3) == .events([]))
    }

    @Test("A number that fell out of the ring, or was never issued, causes a reset")
    func ringReset() {
        var ring = EventRing(capacity: 4)
        for number in 1...10 { ring.add(.problem(code: "\(number)", message: nil)) }
        #expect(ring.news(after: 5) == .reset(next: 10))
        #expect(ring.news(after: 11) == .reset(next: 10))
        let expected = (7...10).map { EventHub.Event(number: $0, content: .problem(code: "\($0)", message: nil)) }
        #expect(ring.news(after: 6) == .events(expected))
    }

    // MARK: The stream

    @Test("A reader gets all events from now on, with ids")
    func stream() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            bench.backend.events.publish(problem: "old", "before")
            let reader = try EventReader(socket: bench.socket)
            try await reader.wait(for: "retry: 1000")
            bench.backend.events.publish(try Self.report(.queued))
            bench.backend.events.publish(gone: RelativePath.root.appending("b.jpg".utf8))
            bench.backend.events.publish(problem: "disk", "full \"up\"\nnow")

            try await reader.wait(for: "event: state\nid: run-2\ndata: {\"id\":\"")
            try await reader.wait(for: "event: gone\nid: run-3\n")
            try await reader.wait(
                for: "event: problem\nid: run-4\ndata: {\"code\":\"disk\",\"message\":\"full \\\"up\\\"\\nnow\"}\n\n")
            #expect(!reader.text.contains("before"))
            #expect(reader.text.lowercased().contains("content-type: text/event-stream"))
        }
    }

    @Test("A returning reader gets the missed events")
    func resume() async throws {
        let bench = try ControlBench()
        for number in 1...4 { bench.backend.events.publish(problem: "p\(number)", nil) }
        try await bench.serving {
            let reader = try EventReader(socket: bench.socket, lastEventID: "run-2")
            try await reader.wait(for: "\"code\":\"p4\"")
            #expect(reader.text.contains("id: run-3\n"))
            #expect(!reader.text.contains("\"p2\""))
            #expect(!reader.text.contains("event: reset"))
        }
    }

    @Test(
        "A reader from an earlier run, or one that missed too much, starts over", arguments: ["other-3", "run-1", "x"])
    func reset(id: String) async throws {
        let bench = try ControlBench()
        for number in 1...20 { bench.backend.events.publish(problem: "p\(number)", nil) }
        try await bench.serving {
            let reader = try EventReader(socket: bench.socket, lastEventID: id)
            try await reader.wait(for: "event: reset\nid: run-20\ndata: {\"read\":\"/v1/files\"}")
            bench.backend.events.publish(problem: "p21", nil)
            try await reader.wait(for: "id: run-21\n")
            #expect(!reader.text.contains("\"p20\""))
        }
    }

    @Test("Open streams end with the agent, and do not delay its end")
    func shutdown() async throws {
        let bench = try ControlBench()
        let reader = try await bench.serving {
            let reader = try EventReader(socket: bench.socket)
            try await reader.wait(for: "retry: 1000")
            return reader
        }
        try await Poll.until("the stream's end") { reader.isOver }
        // The last chunk ends the stream: the server did not cut the connection.
        #expect(reader.text.hasSuffix("0\r\n\r\n"))
    }

    @Test("An idle stream gets heartbeats")
    func heartbeat() async throws {
        let hub = EventHub(clock: HandClock())
        var signals = hub.signals(heartbeat: .milliseconds(1)).makeAsyncIterator()
        #expect(await signals.next() == .heartbeat)
    }
}
