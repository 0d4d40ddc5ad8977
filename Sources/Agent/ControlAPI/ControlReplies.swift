import Text
import FoundationEssentials
import HTTPTypes
import Hummingbird
import LinuxSystem
import NIOCore
import Reports
import UploadCore

/// Builds the replies of the control interface.
enum ControlReply {
    /// A reply with JSON text and a line feed.
    static func json(_ text: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text + [UInt8(ascii: "\n")])))
    }

    /// A reply with a value as JSON. Members are sorted by name.
    static func encoded(_ value: some Encodable) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return json(Array(try encoder.encode(value)))
    }

    /// A reply with a file's bytes; 304 if the client has the file with this tag.
    static func bytes(
        _ bytes: ByteBuffer, type: String, tag: String, caching: String, to request: Request
    ) -> Response {
        let tag = "\"\(tag)\""
        var headers: HTTPFields = [.eTag: tag, .cacheControl: caching, .xContentTypeOptions: "nosniff"]
        if EntityTags(request.headers[values: .ifNoneMatch]).match(tag) {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = type
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }

    /// `{"error":{"code":…,"message":…}}`
    static func error(
        _ status: HTTPResponse.Status, _ code: String, _ message: String, headers: HTTPFields = [:]
    ) -> Response {
        var text = JSONText(layout: .line)
        text.object { text in
            text.nested("error") { text in
                text.member("code", code)
                text.member("message", message)
            }
        }
        var response = json(text.bytes, status: status)
        for field in headers { response.headers.append(field) }
        return response
    }

    /// `{"error":{"code":…,"message":…,"until":…}}`
    static func trouble(_ trouble: AvatarTrouble) -> Response {
        var text = JSONText(layout: .line)
        text.object { text in
            text.nested("error") { text in
                text.member("code", trouble.code)
                text.member("message", trouble.description)
                text.member("until", trouble.until)
            }
        }
        let status: HTTPResponse.Status =
            switch trouble.kind {
            case .usage: .badRequest
            case .notAllowed: .forbidden
            case .refused: .notFound
            case .later, .noWorker: .serviceUnavailable
            case .storage: .internalServerError
            }
        return json(text.bytes, status: status)
    }

    /// `{"files":[…]}` or `{"sources":[…]}`, one file or post per line; with a limit also `"counts":{…}`.
    static func list<Report: SubjectReport>(_ listing: Listing<Report>) -> Response {
        streamed { writer in
            var text = ByteBuffer(string: "{\"\(Report.Entry.noun)s\":[")
            try await write(listing.reports, into: &text, to: &writer) { $0.controlText() }
            text.writeString("\n]")
            if let counts = listing.counts {
                text.writeString(",\"counts\":")
                text.writeBytes(Self.counts(counts))
            }
            text.writeString("}\n")
            try await writer.write(text)
        }
    }

    /// `{"files":[…],"counts":{…},"next":…}`, one file per line.
    static func page(_ page: FilePage) -> Response {
        streamed { writer in
            var text = ByteBuffer(string: "{\"files\":[")
            try await write(page.reports, into: &text, to: &writer) { $0.controlText() }
            text.writeString("\n],\"counts\":")
            text.writeBytes(counts(page.counts))
            var json = JSONText(layout: .line)
            json.object { $0.member("next", page.next?.description) }
            text.writeString(",")
            text.writeBytes(json.bytes.dropFirst())
            text.writeString("\n")
            try await writer.write(text)
        }
    }

    /// `{"history":[…],"next":…}`, one outcome per line; `next` continues with older ones.
    ///
    /// - Parameter limit: the number of outcomes asked for.
    static func history(_ journal: Journal, mayContinue limit: Int) -> Response {
        streamed { writer in
            var text = ByteBuffer(string: "{\"history\":[")
            try await write(journal.entries, into: &text, to: &writer) { journal.json($0) }
            let next = journal.entries.count == limit ? journal.entries.last?.number : nil
            text.writeString("\n],\"next\":\(next.map { "\($0)" } ?? "null")}\n")
            try await writer.write(text)
        }
    }

    /// `{"done":3,"failed":1}`
    private static func counts<State: StateWord>(_ counts: [State: Int]) -> [UInt8] {
        var json = JSONText(layout: .line)
        json.object { json in
            for (state, number) in counts.sorted(by: { $0.key.word < $1.key.word }) { json.member(state.word, number) }
        }
        return json.bytes
    }

    /// `{"changed":[…],"unchanged":[{"file":…,"reason":…}],"counts":{"changed":…,"unchanged":…}}`, one file per line;
    /// `"continues":true` if more files follow later.
    static func answer(_ answer: ActionAnswer<FileReport>) -> Response {
        streamed { writer in try await write(answer, to: &writer) }
    }

    /// The same for an action that may take long. Blanks, which JSON allows before a value, show that the agent is at work.
    static func answer(_ work: @escaping @Sendable () async -> ActionAnswer<FileReport>) -> Response {
        streamed { writer in
            let (steps, continuation) = AsyncStream<ActionAnswer<FileReport>?>.makeStream()
            Task {
                continuation.yield(await work())
                continuation.finish()
            }
            let beats = Task {
                while !Task.isCancelled {
                    try await Timers.sleep(for: .seconds(5))
                    continuation.yield(nil)
                }
            }
            defer { beats.cancel() }
            for await step in steps {
                guard let answer = step else {
                    try await writer.write(ByteBuffer(string: " "))
                    continue
                }
                try await write(answer, to: &writer)
                return
            }
        }
    }

    private static func write(_ answer: ActionAnswer<FileReport>, to writer: inout any ResponseBodyWriter) async throws
    {
        var text = ByteBuffer(string: "{\"changed\":[")
        try await write(answer.outcomes.changed(), into: &text, to: &writer) { $0.controlText() }
        text.writeString("],\"unchanged\":[")
        let unchanged = answer.outcomes.filter { $0.refusal != nil }
        try await write(unchanged, into: &text, to: &writer) { $0.controlText(refusal: "reason") }
        text.writeString("],\"counts\":{\"changed\":\(answer.changed),\"unchanged\":\(answer.unchanged)}")
        text.writeString(answer.continues ? ",\"continues\":true}\n" : "}\n")
        try await writer.write(text)
    }

    /// `{"source":…,"refusal":…}`
    static func outcome(_ outcome: ActionOutcome<SourceReport>) -> Response {
        json(outcome.controlText(refusal: "refusal"))
    }

    private static func streamed(
        _ body: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
    ) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                try await body(&writer)
                try await writer.finish(nil)
            })
    }

    /// Writes the elements of a list, one per line. A list of a hundred thousand files is never in memory as one text.
    private static func write<Element>(
        _ elements: [Element], into text: inout ByteBuffer, to writer: inout any ResponseBodyWriter,
        _ controlText: (Element) -> [UInt8]
    ) async throws {
        for (index, element) in elements.enumerated() {
            text.writeString(index == 0 ? "\n" : ",\n")
            text.writeBytes(controlText(element))
            guard text.readableBytes >= 64 * 1024 else { continue }
            try await writer.write(text)
            text.clear()
        }
    }
}

extension ActionOutcome where Subject: SubjectReport {
    /// `{"file":…,"reason":…}` or `{"source":…,"refusal":…}`: the subject, and why the action changed nothing.
    fileprivate func controlText(refusal member: String) -> [UInt8] {
        var text = JSONText(layout: .line)
        text.object { $0.member(member, refusal) }
        let opening = Array("{\"\(Subject.Entry.noun)\":".utf8)
        return opening + subject.controlText() + [UInt8(ascii: ",")] + text.bytes.dropFirst()
    }
}

/// A request that the interface answers with an error.
struct ControlRefusal: Error {
    var status: HTTPResponse.Status
    var code: String
    var message: String

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }
}

/// Answers unknown addresses, refusals and failures in the interface's format. Rejects large bodies.
struct ControlErrors: RouterMiddleware {
    /// Maximum size of a request's body in bytes. A token takes up to 16 KiB.
    static let largestBody = 64 * 1024

    func handle(
        _ request: Request, context: ControlContext,
        next: (Request, ControlContext) async throws -> Response
    ) async throws -> Response {
        var request = request
        do {
            // A dropped file may have any size.
            if request.uri.path != DropRoutes.address { _ = try await request.collectBody(upTo: Self.largestBody) }
            return try await next(request, context)
        } catch let refusal as ControlRefusal {
            return ControlReply.error(refusal.status, refusal.code, refusal.message)
        } catch is NIOTooManyBytesError {
            return ControlReply.error(
                .contentTooLarge, "too_large", "a request's body may have \(Self.largestBody) bytes")
        } catch let error as HTTPError {
            let code = error.status == .notFound ? "not_found" : "bad_request"
            return ControlReply.error(error.status, code, "\(request.uri.path): \(error.status.reasonPhrase)")
        }
    }
}
