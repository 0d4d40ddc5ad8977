import AgentSupport
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Reports
import UploadCore

/// Builds the replies of the control interface.
enum ControlReply {
    /// Number of paths per write. A list of a hundred thousand paths is never in memory as one text.
    private static let chunk = 256

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

    /// `{"files":[…]}`, one file per line.
    static func list(_ files: [FileReport]) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                try await writer.write(ByteBuffer(string: "{\"files\":["))
                for start in stride(from: 0, to: files.count, by: chunk) {
                    var text = ByteBuffer()
                    for index in start..<min(files.count, start + chunk) {
                        text.writeString(index == 0 ? "\n" : ",\n")
                        text.writeBytes(files[index].controlText())
                    }
                    try await writer.write(text)
                }
                try await writer.write(ByteBuffer(string: "\n]}\n"))
                try await writer.finish(nil)
            })
    }

    /// `{"changed":[…],"unchanged":[{"file":…,"reason":…}]}`, one file per line.
    static func answer(_ answer: ActionAnswer) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                var text = ByteBuffer(string: "{\"changed\":[")
                for (index, file) in answer.changed.enumerated() {
                    text.writeString(index == 0 ? "\n" : ",\n")
                    text.writeBytes(file.controlText())
                    try await flush(&text, to: &writer)
                }
                text.writeString("],\"unchanged\":[")
                for (index, file) in answer.unchanged.enumerated() {
                    text.writeString(index == 0 ? "\n" : ",\n")
                    text.writeBytes(file.controlText())
                    try await flush(&text, to: &writer)
                }
                text.writeString("]}\n")
                try await writer.write(text)
                try await writer.finish(nil)
            })
    }

    private static func flush(_ text: inout ByteBuffer, to writer: inout any ResponseBodyWriter) async throws {
        guard text.readableBytes >= 64 * 1024 else { return }
        try await writer.write(text)
        text.clear()
    }
}

extension ActionAnswer.Unchanged {
    /// `{"file":…,"reason":…}`
    package func controlText() -> [UInt8] {
        var text = JSONText(layout: .line)
        text.object { $0.member("reason", reason) }
        return Array("{\"file\":".utf8) + file.controlText() + [UInt8(ascii: ",")] + text.bytes.dropFirst()
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
            _ = try await request.collectBody(upTo: Self.largestBody)
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

/// Delays requests until the agent can answer: while reading its ledger, the agent knows no files.
struct Readiness: RouterMiddleware {
    private let readiness: Task<Void, Never>

    init(of readiness: Task<Void, Never>) { self.readiness = readiness }

    func handle(
        _ request: Request, context: ControlContext,
        next: (Request, ControlContext) async throws -> Response
    ) async throws -> Response {
        await readiness.value
        return try await next(request, context)
    }
}
