import Foundation
import HTTPTypes
import Remotes
import Synchronization
import Transport
import URLs

/// A request as a server sees it, with the whole body.
struct SeenRequest: Sendable {
    struct Part: Equatable, Sendable {
        var name: String
        var fileName: String?
        var contentType: String?
        var bytes: [UInt8]
    }

    var method: String
    var url: String
    var headers: [String: String]
    /// The origin that may get the request's credentials.
    var origin: WebOrigin?
    var body: [UInt8] = []
    var parts: [Part] = []

    /// The last part of the URL.
    var endpoint: String { url.split(separator: "/").last.map(String.init) ?? "" }

    /// The body as a JSON object; empty if the body is no JSON object.
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:] }

    /// The JSON objects in the header `file_block`.
    var blocks: [[String: Any]] {
        let text = headers["file_block"] ?? ""
        return (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [[String: Any]] ?? []
    }
}

/// A transport that reads each body to the end and takes the reply from a script.
final class ScriptedTransport: HTTPTransport {
    typealias Script = @Sendable (SeenRequest) -> Result<HTTPReply, TransportError>

    private let script: Script
    private let log = Mutex<[SeenRequest]>([])

    init(_ script: @escaping Script) { self.script = script }

    /// Creates a transport that always answers 200 with this JSON in `data`.
    convenience init(data: String) { self.init { _ in .success(.json(data: data)) } }

    var requests: [SeenRequest] { log.withLock { $0 } }

    func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply {
        var seen = SeenRequest(
            method: request.method.rawValue, url: request.url,
            headers: Dictionary(request.headers.map { ($0.name.rawName, $0.value) }) { $1 },
            origin: request.credentialsOrigin)
        do {
            switch request.body {
            case .none: break
            case .bytes(let bytes): seen.body = bytes
            case .stream(let source): seen.body = try Self.read(source)
            case .multipart(let parts):
                seen.parts = try parts.map { part in
                    SeenRequest.Part(
                        name: part.name, fileName: part.fileName, contentType: part.contentType,
                        bytes: try Self.read(part.source))
                }
            }
        } catch {
            throw .body(error)
        }
        log.withLock { $0.append(seen) }
        return try script(seen).get()
    }

    private static func read(_ source: any BodySource) throws -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 60_000)
        while UInt64(all.count) < source.length {
            let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
            if count == 0 { throw BodyTooShort(promised: source.length, delivered: UInt64(all.count)) }
            all += buffer[..<count]
        }
        return all
    }
}

struct FixedToken: CredentialSource {
    var token: String?
    func credential() -> Credential? { token.map(Credential.bearer) }
}

/// A token that a test can change.
final class ChangingToken: CredentialSource {
    private let token: Mutex<String?>
    init(_ token: String?) { self.token = Mutex(token) }
    func set(_ new: String?) { token.withLock { $0 = new } }
    func credential() -> Credential? { token.withLock { $0.map(Credential.bearer) } }
}

extension HTTPReply {
    static func json(data: String) -> HTTPReply {
        HTTPReply(status: 200, body: Array(#"{"code":200,"message":"ok","data":\#(data)}"#.utf8))
    }
}
