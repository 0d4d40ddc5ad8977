import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// `GET /v1/events`: server-sent events (html.spec.whatwg.org, section 9.2).
///
/// Each event has the id `<run>-<number>`. A reader that reconnects with the last id in `Last-Event-ID` receives the
/// later events. If those are lost, the reader receives a `reset` and reads `/v1/files` again. The stream ends with
/// the agent.
struct EventStream: Sendable {
    private let hub: EventHub
    /// Number of the last event that the reader knows; `nil` if the reader must start over.
    private let start: UInt64?

    /// Interval of the lines that show the stream is alive.
    private static let heartbeat = Duration.seconds(15)
    /// Milliseconds until a disconnected reader reconnects.
    private static let retry = 1000

    init(hub: EventHub, request: Request) {
        self.hub = hub
        let last = HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }
        start = last.map { Self.number(in: $0, run: hub.run) } ?? hub.lastNumber
    }

    /// Returns the number in an id of this run; `nil` for any other id.
    static func number(in id: String, run: String) -> UInt64? {
        guard id.hasPrefix(run + "-") else { return nil }
        return UInt64(id.dropFirst(run.utf8.count + 1))
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

    /// Writes events until the stream ends.
    private func follow(_ write: (String) async throws -> Void) async throws {
        var number = start ?? hub.lastNumber
        var opening = "retry: \(Self.retry)\n: outbox events, see /usr/share/doc/outbox/http.md\n\n"
        if start == nil { opening += reset(number) }
        try await write(opening + take(after: &number))
        for await signal in hub.signals(heartbeat: Self.heartbeat).cancelOnGracefulShutdown() {
            let text = take(after: &number)
            if !text.isEmpty {
                try await write(text)
            } else if signal == .heartbeat {
                try await write(":\n\n")
            }
        }
    }

    /// Returns the text of the events after a number, and advances the number.
    private func take(after number: inout UInt64) -> String {
        switch hub.news(after: number) {
        case .events(let events):
            number = events.last?.number ?? number
            return events.map { text("\(hub.run)-\($0.number)", $0.content) }.joined()
        case .reset(let next):
            number = next
            return reset(next)
        }
    }

    private func reset(_ number: UInt64) -> String {
        "event: reset\nid: \(hub.run)-\(number)\ndata: {\"read\":\"/v1/files\"}\n\n"
    }

    private func text(_ id: String, _ content: EventHub.Content) -> String {
        "event: \(content.name)\nid: \(id)\ndata: \(String(decoding: content.controlText(), as: UTF8.self))\n\n"
    }
}
