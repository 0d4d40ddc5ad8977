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

    // MARK: Readers

    private func hub() -> EventHub { EventHub(clock: HandClock(), ledger: "ledger", outcome: 20, mostUnheard: 3) }

    @Test("A reader gets the events since it came; an outcome has the number of its row")
    func unheard() throws {
        let hub = hub()
        hub.publish(problem: "old", nil)
        let reader = hub.reader(heartbeat: .seconds(60))
        #expect(reader.start == 20)
        let done = try Self.report(.done)
        hub.publish(problem: "disk", nil)
        hub.publish(done, outcome: 21)
        // Says nothing new.
        hub.publish(done)
        hub.pass(outcome: 22)
        hub.publish(problem: "disk", "full")
        #expect(reader.take().events.map { hub.text($0.id) } == ["ledger-20.2", "ledger-21", "ledger-22.4"])
        #expect(reader.take() == EventHub.Unheard())
    }

    @Test("A reader that is too slow learns which outcomes it missed")
    func slow() throws {
        let hub = hub()
        let reader = hub.reader(heartbeat: .seconds(60))
        for number in 21...24 {
            hub.publish(try Self.report(.done, path: "\(number).jpg"), outcome: UInt64(number))
        }
        let unheard = reader.take()
        #expect(unheard.missedUntil == 23)
        #expect(unheard.events.map { hub.text($0.id) } == ["ledger-24"])
        for _ in 1...4 { hub.publish(problem: "disk", nil) }
        #expect(reader.take().missedUntil == 24)
    }

    @Test(
        "An id leads to the last outcome that its reader knows",
        arguments: [("ledger-7", 7), ("ledger-7.30", 7), ("other-7", nil), ("ledger-", nil), ("", nil)]
            as [(String, UInt64?)])
    func ids(text: String, outcome: UInt64?) {
        #expect(hub().outcome(inID: text) == outcome)
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

            try await reader.wait(for: "event: state\nid: ledger-20.2\ndata: {\"id\":\"")
            try await reader.wait(for: "event: gone\nid: ledger-20.3\n")
            try await reader.wait(
                for:
                    "event: problem\nid: ledger-20.4\ndata: {\"code\":\"disk\",\"message\":\"full \\\"up\\\"\\nnow\"}\n\n"
            )
            #expect(!reader.text.contains("before"))
            #expect(reader.text.lowercased().contains("content-type: text/event-stream"))
        }
    }

    @Test("A returning reader gets the outcomes it missed, then what comes", arguments: ["ledger-12", "ledger-12.345"])
    func resume(id: String) async throws {
        let bench = try ControlBench()
        try await bench.serving {
            let reader = try EventReader(socket: bench.socket, lastEventID: id)
            try await reader.wait(for: "id: ledger-20\ndata: {\"id\":\"")
            bench.backend.events.publish(try Self.report(.done), outcome: 21)
            try await reader.wait(for: "event: state\nid: ledger-21\n")
            #expect(reader.text.matches(of: #/id: ledger-(\d+)/#).map { Int($0.1) } == Array(13...21))
            #expect(!reader.text.contains("event: reset"))
        }
    }

    @Test(
        "A reader of another ledger's outcomes, or of such as are gone, starts over",
        arguments: ["other-3", "ledger-1", "ledger-21", "x"])
    func reset(id: String) async throws {
        let bench = try ControlBench()
        try await bench.serving {
            let reader = try EventReader(socket: bench.socket, lastEventID: id)
            try await reader.wait(for: "event: reset\nid: ledger-20\ndata: {\"read\":\"/v1/files\"}")
            bench.backend.events.publish(problem: "p21", nil)
            try await reader.wait(for: "id: ledger-20.1\n")
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
        var signals = hub().reader(heartbeat: .milliseconds(1)).signals.makeAsyncIterator()
        #expect(await signals.next() == .heartbeat)
    }
}
