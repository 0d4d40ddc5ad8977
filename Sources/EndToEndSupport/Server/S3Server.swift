import Foundation
import Glibc
import Synchronization
import TestSupport

/// An S3 store in memory, with one bucket in the path. It takes each object once (`If-None-Match`), and checks no
/// signatures.
package final class S3Server: Sendable {
    /// The name of the bucket.
    package static let bucket = "outbox"
    /// The environment variables with keys that the store accepts, as any others.
    package static let keys = ["AWS_ACCESS_KEY_ID": "outboxaccess", "AWS_SECRET_ACCESS_KEY": "outboxsecret"]

    /// A finished object.
    package struct Object: Sendable {
        package var bytes: [UInt8]
        /// The metadata of the request that created it, by lower-case names.
        package var fields: [String: String]
        var tag: String
    }

    fileprivate struct Upload {
        var key: String
        var fields: [String: String]
        var parts: [Int: [UInt8]] = [:]
    }

    fileprivate struct State {
        var objects: [String: Object] = [:]
        var uploads: [String: Upload] = [:]
        var lastID = 0
        var arrivedBytes = 0
        var repeatedBytes = 0
        var delay: UInt32 = 0
    }

    fileprivate final class Desk: Sendable {
        let state = Mutex(State())
    }

    private let desk = Desk()
    private let listener: ScriptedServer

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - delay: the delay of the answer to each part and object.
    ///   - losesReply: whether the reply to a request is lost, by S3's name of the request, or its method. The request
    ///     has its effect.
    package init(
        delay: Duration = .zero, losesReply: @escaping @Sendable (String) -> Bool = { _ in false }
    ) throws {
        let desk = desk
        desk.state.withLock { $0.delay = UInt32(delay / .microseconds(1)) }
        listener = try ScriptedServer { request in
            let reply = desk.answer(request)
            if request.method == "PUT" { usleep(desk.state.withLock { $0.delay }) }
            return losesReply(Self.name(of: request)) ? .close : reply
        }
    }

    deinit { listener.stop() }

    private static func name(of request: ScriptedServer.Request) -> String {
        let isPart = request.target.contains("uploadId=")
        switch request.method {
        case "PUT": return isPart ? "UploadPart" : "PutObject"
        case "POST": return isPart ? "CompleteMultipartUpload" : "CreateMultipartUpload"
        default: return request.method
        }
    }

    package var url: String { listener.url }
    /// The finished objects, by key.
    package var objects: [String: Object] { desk.state.withLock { $0.objects } }
    /// The number of multipart uploads that are neither completed nor aborted.
    package var openUploads: Int { desk.state.withLock { $0.uploads.count } }
    /// The bytes of all whole parts and objects that arrived.
    package var arrivedBytes: Int { desk.state.withLock { $0.arrivedBytes } }
    /// Those of them that the store had already.
    package var repeatedBytes: Int { desk.state.withLock { $0.repeatedBytes } }
    /// Changes the delay of the answer to each part and object.
    package func setDelay(_ delay: Duration) {
        desk.state.withLock { $0.delay = UInt32(delay / .microseconds(1)) }
    }
}

extension S3Server.Desk {
    fileprivate typealias Reply = ScriptedServer.Reply
    fileprivate typealias State = S3Server.State

    fileprivate func answer(_ request: ScriptedServer.Request) -> Reply {
        guard let parts = URLComponents(string: request.target) else { return Self.error(400, "InvalidURI") }
        let query = Dictionary((parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { $1 }
        let start = "/\(S3Server.bucket)"
        guard parts.path.hasPrefix(start) else { return Self.error(404, "NoSuchBucket") }
        guard request.header("Authorization")?.hasPrefix("AWS4-HMAC-SHA256 ") == true else {
            return Self.error(403, "AccessDenied")
        }
        let key = String(parts.path.dropFirst(start.count + 1))
        return state.withLock { state in
            if let id = query["uploadId"] { return Self.multipart(request, key, id, query, &state) }
            switch request.method {
            case "POST" where query["uploads"] != nil:
                state.lastID += 1
                state.uploads["id\(state.lastID)"] = S3Server.Upload(key: key, fields: Self.fields(of: request))
                return Self.document(
                    "InitiateMultipartUploadResult", "<UploadId>id\(state.lastID)</UploadId><Key>\(key)</Key>")
            case "PUT": return Self.put(request, key, &state)
            case "HEAD", "GET": return Self.get(key, state)
            default: return Self.error(405, "MethodNotAllowed")
            }
        }
    }

    private static func put(_ request: ScriptedServer.Request, _ key: String, _ state: inout State) -> Reply {
        state.arrivedBytes += request.body.count
        if let object = state.objects[key] {
            if object.bytes == request.body { state.repeatedBytes += request.body.count }
            return error(412, "PreconditionFailed")
        }
        let tag = Digest.md5(request.body)
        state.objects[key] = S3Server.Object(bytes: request.body, fields: fields(of: request), tag: tag)
        return .response(status: 200, headers: [("ETag", "\"\(tag)\"")])
    }

    private static func get(_ key: String, _ state: State) -> Reply {
        guard let object = state.objects[key] else { return error(404, "NoSuchKey") }
        let fields = object.fields.map { ($0.key, $0.value) } + [("ETag", "\"\(object.tag)\"")]
        return .response(status: 200, headers: fields, body: object.bytes)
    }

    private static func multipart(
        _ request: ScriptedServer.Request, _ key: String, _ id: String, _ query: [String: String],
        _ state: inout State
    ) -> Reply {
        guard let upload = state.uploads[id], upload.key == key else { return error(404, "NoSuchUpload") }
        switch request.method {
        case "PUT":
            guard let number = query["partNumber"].flatMap({ Int($0) }) else { return error(400, "InvalidArgument") }
            state.arrivedBytes += request.body.count
            if upload.parts[number] != nil { state.repeatedBytes += request.body.count }
            state.uploads[id]?.parts[number] = request.body
            return .response(status: 200, headers: [("ETag", "\"\(Digest.md5(request.body))\"")])
        case "GET":
            let list = upload.parts.sorted { $0.key < $1.key }.map { number, bytes in
                "<Part><PartNumber>\(number)</PartNumber><Size>\(bytes.count)</Size>"
                    + "<ETag>&quot;\(Digest.md5(bytes))&quot;</ETag></Part>"
            }
            return document("ListPartsResult", "<IsTruncated>false</IsTruncated>\(list.joined())")
        case "DELETE":
            state.uploads[id] = nil
            return .response(status: 204)
        case "POST":
            if state.objects[key] != nil { return error(412, "PreconditionFailed") }
            let parts = upload.parts.sorted { $0.key < $1.key }
            let tag = Digest.md5(parts.flatMap { digest(Digest.md5($0.value)) }) + "-\(parts.count)"
            state.uploads[id] = nil
            state.objects[key] = S3Server.Object(bytes: parts.flatMap(\.value), fields: upload.fields, tag: tag)
            return document("CompleteMultipartUploadResult", "<Key>\(key)</Key><ETag>&quot;\(tag)&quot;</ETag>")
        default: return error(405, "MethodNotAllowed")
        }
    }

    private static func fields(of request: ScriptedServer.Request) -> [String: String] {
        let kept = request.headers.map { ($0.name.lowercased(), $0.value) }
            .filter { $0.0.hasPrefix("x-amz-meta-") || $0.0 == "content-type" }
        return Dictionary(kept) { $1 }
    }

    /// Returns the bytes of hexadecimal digits.
    private static func digest(_ text: String) -> [UInt8] {
        let digits = Array(text)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    private static func document(_ name: String, _ content: String) -> Reply {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<\(name)>\(content)</\(name)>"
        return .response(status: 200, headers: [("Content-Type", "application/xml")], body: Array(text.utf8))
    }

    private static func error(_ status: Int, _ code: String) -> Reply {
        let text = "<Error><Code>\(code)</Code><Message>the store says \(code)</Message></Error>"
        return .response(status: status, headers: [("Content-Type", "application/xml")], body: Array(text.utf8))
    }
}
