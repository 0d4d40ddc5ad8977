import Foundation
import HTTPTypes
import Synchronization
import Transport
import URLs
import UploadCore

@testable import Remotes

/// A tus 1.0 server in memory, behind a transport of its own: so a connection can break in the middle of a body.
final class FakeTusServer: ConformanceServer {
    static let url = "https://tus.example/files/"

    struct Stored: Sendable {
        var size: UInt64
        var bytes: [UInt8] = []
        var metadata: [String: [UInt8]]
        /// How many bytes the server says that it has before `bytes`.
        var pretended: UInt64 = 0
        var offset: UInt64 { pretended + UInt64(bytes.count) }
        var isComplete: Bool { offset == size }
    }

    /// What the server is like.
    struct Manner: Sendable {
        var offer: [String: String] = [
            "Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Extension": "creation,termination",
        ]
        /// The status of the reply to OPTIONS.
        var optionsStatus = 204
        /// Written into `Location` before the number of the upload.
        var place = FakeTusServer.url
        /// The largest body of a PATCH.
        var longestPatch = Int.max
        /// The status of a HEAD of a finished upload; 204 comes without an offset.
        var finishedStatus = 200
        /// The largest body of a POST.
        var longestCreation = Int.max
        /// How many bytes of the body of a POST are kept.
        var keptOfCreation = Int.max
        /// Whether the reply to a POST with a body has the offset.
        var statesOffsetOfCreation = true
        /// Whether an interrupted PATCH leaves nothing behind.
        var losesInterruptedBytes = false
    }

    /// A request as the server saw it.
    struct Seen: Sendable {
        var method: String
        var url: String
        var headers: HTTPFields
        var length: UInt64 = 0

        func field(_ name: String) -> String? { headers.value(of: name) }
    }

    struct State {
        var manner = Manner()
        var uploads: [Int: Stored] = [:]
        var lastID = 0
        var log: [Seen] = []
        var losesReply = false
        var cut: Int?
        var isDown = false
        /// The only accepted token; nil: any, or none.
        var token: String?
        /// Replies that come in place of the next ones, by method.
        var planned: [String: [Result<HTTPReply, TransportError>]] = [:]
    }

    /// The server's end of the network.
    final class Network: HTTPTransport {
        let state = Mutex(State())

        func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply {
            if request.headers[.authorization] != nil, WebOrigin(request.url) != request.credentialsOrigin {
                throw .badRequest("the token may not go there")
            }
            if state.withLock({ $0.isDown }) { throw .connect("connection refused") }
            let planned: Result<HTTPReply, TransportError>? = state.withLock { state in
                state.log.append(FakeTusServer.seen(request))
                if let token = state.token, request.headers[.authorization] != "Bearer \(token)" {
                    return .success(FakeTusServer.reply(401))
                }
                let method = request.method.rawValue
                return state.planned[method]?.isEmpty == false ? state.planned[method]?.removeFirst() : nil
            }
            if let planned { return try planned.get() }
            if let refusal = state.withLock({ FakeTusServer.refusal(of: request, $0) }) { return refusal }
            try receive(request)
            let content = try content(of: request)
            let (reply, isLost) = state.withLock { state in
                defer { state.losesReply = false }
                return (FakeTusServer.answer(request, content, &state), state.losesReply)
            }
            if isLost { throw .reset("the reply was lost") }
            return reply
        }

        /// Reads the body of a POST.
        private func content(of request: TransportRequest) throws(TransportError) -> [UInt8] {
            guard request.method == .post, case .stream(let body) = request.body else { return [] }
            var bytes = [UInt8](repeating: 0, count: Int(body.length))
            var filled = 0
            do {
                while filled < bytes.count {
                    let count = try bytes.withUnsafeMutableBytes {
                        try body.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[filled...]))
                    }
                    if count == 0 { throw BodyTooShort(promised: body.length, delivered: UInt64(filled)) }
                    filled += count
                }
            } catch {
                throw .body(error)
            }
            return bytes
        }

        /// Reads the body of a PATCH, and keeps what arrives.
        private func receive(_ request: TransportRequest) throws(TransportError) {
            guard request.method == .patch, case .stream(let body) = request.body else { return }
            let id = FakeTusServer.number(in: request.url)
            var buffer = [UInt8](repeating: 0, count: 60_000)
            var sent: UInt64 = 0
            let before = state.withLock { $0.uploads[id]?.bytes.count ?? 0 }
            while sent < body.length {
                let count: Int
                do {
                    count = try buffer.withUnsafeMutableBytes { try body.read(into: $0) }
                    if count == 0 { throw BodyTooShort(promised: body.length, delivered: sent) }
                } catch {
                    throw .body(error)
                }
                sent += UInt64(count)
                let isCut = state.withLock { state in
                    let kept = min(count, state.cut ?? count)
                    state.uploads[id]?.bytes += buffer[..<kept]
                    guard let cut = state.cut else { return false }
                    state.cut = kept < count ? nil : cut - kept
                    guard kept < count else { return false }
                    if state.manner.losesInterruptedBytes { state.uploads[id]?.bytes.removeSubrange(before...) }
                    return true
                }
                if isCut { throw .reset("the connection broke") }
                request.onProgress?(sent)
            }
        }
    }

    let network = Network()
    let remote: any Remote
    private let maximumPatch: UInt64?
    private let createsWithUpload: Bool
    /// The token that the remote uses.
    private let credentials: ChangingToken

    init(
        maximumPatch: UInt64? = 1 << 20, createsWithUpload: Bool = false, token: String? = nil,
        _ change: (inout Manner) -> Void = { _ in }
    ) {
        self.maximumPatch = maximumPatch
        self.createsWithUpload = createsWithUpload
        credentials = ChangingToken(token)
        remote = Self.remote(maximumPatch, createsWithUpload, network, credentials)
        network.state.withLock { change(&$0.manner) }
    }

    private static func remote(
        _ maximumPatch: UInt64?, _ createsWithUpload: Bool, _ network: Network, _ credentials: ChangingToken
    ) -> any Remote {
        TusRemote(
            url: url, account: "me", maximumPatch: maximumPatch, createsWithUpload: createsWithUpload,
            transport: network,
            authorizer: BearerAuthorizer(credentials, url: url))
    }

    // MARK: Controls

    func loseNextReply() { network.state.withLock { $0.losesReply = true } }

    func cutNextFragment(after bytes: Int) { network.state.withLock { $0.cut = bytes } }

    func forgetEverything() { network.state.withLock { $0.uploads = $0.uploads.filter(\.value.isComplete) } }

    func setDown(_ isDown: Bool) { network.state.withLock { $0.isDown = isDown } }

    func expireCredentials() { network.state.withLock { $0.token = "second" } }

    func renewCredentials() { credentials.set("second") }

    func dropLastByte() {
        network.state.withLock { state in
            for id in state.uploads.keys { state.uploads[id]?.bytes.removeLast() }
        }
    }

    func answerNext(_ status: Int) { plan("PATCH", .success(Self.reply(status))) }

    func anotherRun() -> any Remote { Self.remote(maximumPatch, createsWithUpload, network, credentials) }

    func pretendToHave(_ bytes: UInt64) {
        network.state.withLock { state in
            for id in state.uploads.keys {
                state.uploads[id]?.pretended = bytes
                state.uploads[id]?.bytes = []
            }
        }
    }

    func arrived(_ index: Int) -> Int? { network.state.withLock { $0.uploads.values.first?.bytes.count } }

    func holds(_ content: TestContent) -> Bool {
        network.state.withLock { state in state.uploads.values.contains { $0.isComplete && $0.bytes == content.bytes } }
    }

    var openUploads: Int { network.state.withLock { state in state.uploads.values.count { !$0.isComplete } } }

    /// Answers the next request of a method with this.
    func plan(_ method: String, _ reply: Result<HTTPReply, TransportError>) {
        network.state.withLock { $0.planned[method, default: []].append(reply) }
    }

    func plan(_ method: String, _ status: Int, _ fields: [String: String] = [:], body: String = "") {
        plan(method, .success(HTTPReply(status: status, headers: Self.fields(fields), body: Array(body.utf8))))
    }

    var log: [Seen] { network.state.withLock { $0.log } }

    func requests(_ method: String) -> [Seen] { log.filter { $0.method == method } }

    // MARK: Answers

    private static func seen(_ request: TransportRequest) -> Seen {
        var seen = Seen(method: request.method.rawValue, url: request.url, headers: request.headers)
        if case .stream(let body) = request.body { seen.length = body.length }
        return seen
    }

    static func fields(_ values: [String: String]) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in values { try? fields.add(name, value) }
        return fields
    }

    private static func number(in url: String) -> Int { url.split(separator: "/").last.flatMap { Int($0) } ?? 0 }

    private static func reply(_ status: Int, _ values: [String: String] = [:]) -> HTTPReply {
        HTTPReply(status: status, headers: fields(values.merging(["Tus-Resumable": "1.0.0"]) { $1 }))
    }

    /// Refuses a request before its body.
    private static func refusal(of request: TransportRequest, _ state: State) -> HTTPReply? {
        if request.method == .options { return nil }
        guard request.headers.value(of: "Tus-Resumable") == "1.0.0" else { return reply(412) }
        guard request.method == .patch else { return nil }
        guard let stored = state.uploads[number(in: request.url)] else { return reply(404) }
        guard request.headers.first(.contentType) == "application/offset+octet-stream" else { return reply(415) }
        guard request.headers.value(of: "Upload-Offset") == "\(stored.offset)" else { return reply(409) }
        let length = seen(request).length
        if length == 0 { return reply(400) }
        return length > state.manner.longestPatch ? reply(413) : nil
    }

    private static func answer(_ request: TransportRequest, _ content: [UInt8], _ state: inout State) -> HTTPReply {
        let id = number(in: request.url)
        switch request.method {
        case .options:
            return HTTPReply(status: state.manner.optionsStatus, headers: fields(state.manner.offer))
        case .post:
            guard let size = request.headers.value(of: "Upload-Length").flatMap({ UInt64($0) }) else {
                return reply(400)
            }
            if content.count > state.manner.longestCreation { return reply(413) }
            state.lastID += 1
            let kept = Array(content.prefix(state.manner.keptOfCreation))
            state.uploads[state.lastID] = Stored(
                size: size, bytes: kept, metadata: metadata(request.headers.value(of: "Upload-Metadata") ?? ""))
            var fields = ["Location": state.manner.place + "\(state.lastID)"]
            if !content.isEmpty, state.manner.statesOffsetOfCreation { fields["Upload-Offset"] = "\(kept.count)" }
            return reply(201, fields)
        case .head:
            guard let stored = state.uploads[id] else { return reply(404) }
            let fields = ["Upload-Offset": "\(stored.offset)", "Upload-Length": "\(stored.size)"]
            guard stored.isComplete else { return reply(200, fields) }
            let status = state.manner.finishedStatus
            return reply(status, status == 200 ? fields : [:])
        case .patch:
            guard let stored = state.uploads[id] else { return reply(404) }
            return reply(204, ["Upload-Offset": "\(stored.offset)"])
        case .delete:
            return reply(state.uploads.removeValue(forKey: id) == nil ? 404 : 204)
        default: return reply(405)
        }
    }

    /// Decodes `Upload-Metadata`.
    static func metadata(_ text: String) -> [String: [UInt8]] {
        var values: [String: [UInt8]] = [:]
        for pair in text.split(separator: ",") {
            let words = pair.split(separator: " ")
            guard words.count == 2, let value = Data(base64Encoded: String(words[1])) else { continue }
            values[String(words[0])] = Array(value)
        }
        return values
    }
}
