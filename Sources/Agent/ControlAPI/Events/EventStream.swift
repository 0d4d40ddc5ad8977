import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// `GET /v1/events`: server-sent events (html.spec.whatwg.org, section 9.2).
///
/// An outcome has the id of its row in the journal, `<ledger>-<number>`; other events add a number of their own. A reader
/// that comes back with the last id in `Last-Event-ID` receives the outcomes since, also after a restart. If some are
/// lost, the reader receives a `reset` and reads `/v1/files` again. The stream ends with the agent.
struct EventStream: Sendable {
    private let backend: any ControlBackend
    private let hub: EventHub
    /// The last id that the reader knows; `nil` for a new reader.
    private let lastID: String?

    /// Interval of the lines that show the stream is alive.
    private static let heartbeat = Duration.seconds(15)
    /// Milliseconds until a disconnected reader reconnects.
    private static let retry = 1000

    init(_ backend: any ControlBackend, request: Request) {
        (self.backend, hub) = (backend, backend.events)
        lastID = HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }
    }

    /// Returns the reply. Its body continues until the reader leaves or the agent ends.
    func response() -> Response {
        let headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                try await follow { try await writer.write(ByteBuffer(string: $0)) }
                try await writer.finish(nil)
            })
    }

    private typealias Writer = (String) async throws -> Void

    /// Writes events until the stream ends.
    private func follow(_ write: Writer) async throws {
        let reader = hub.reader(heartbeat: Self.heartbeat)
        var last = reader.start
        try await write("retry: \(Self.retry)\n: outbox events, see /usr/share/doc/outbox/http.md\n\n")
        if let lastID {
            let known = hub.outcome(inID: lastID).flatMap { $0 > last ? nil : $0 }
            var isComplete = false
            if let known { isComplete = try await tellOutcomes(after: known, until: last, write) }
            if !isComplete { try await write(reset(last)) }
        }
        for await signal in reader.signals.cancelOnGracefulShutdown() {
            let unheard = reader.take()
            if let missed = unheard.missedUntil {
                _ = try await tellOutcomes(after: last, until: missed, write)
                try await write(reset(missed))
                last = missed
            }
            if let event = unheard.events.last {
                last = event.id.outcome
                try await write(unheard.events.map(text).joined())
            } else if signal == .heartbeat {
                try await write(":\n\n")
            }
        }
    }

    /// Writes what the journal has, a page at a time.
    ///
    /// - Returns: whether the journal still has all of it.
    private func tellOutcomes(after number: UInt64, until end: UInt64, _ write: Writer) async throws -> Bool {
        var last = number
        while last < end {
            guard let page = await backend.outcomes(after: last) else { return false }
            try await write(page.events.filter { $0.id.outcome <= end }.map(text).joined())
            if page.last == last { break }
            last = page.last
        }
        return true
    }

    private func reset(_ outcome: UInt64) -> String {
        let id = hub.text(EventHub.EventID(outcome: outcome))
        return "event: reset\nid: \(id)\ndata: {\"read\":\"/v1/files\"}\n\n"
    }

    private func text(_ event: EventHub.Event) -> String {
        let data = String(decoding: event.content.controlText(), as: UTF8.self)
        return "event: \(event.content.name)\nid: \(hub.text(event.id))\ndata: \(data)\n\n"
    }
}
