import Foundation
import Glibc
import Synchronization
import TestSupport

/// An S3 store in memory, with one bucket in the path. It takes each object once (`If-None-Match`), and checks no
/// signatures.
package final class S3Server: Sendable {
    /// Chooses the fault of a request by its name in S3, or by its method.
    package typealias Faults = @Sendable (String) -> FaultServer.Fault?

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

        /// The MD5 of the content, as the client says.
        var md5: String { fields["x-amz-meta-md5"] ?? "" }
    }

    fileprivate struct State {
        var objects: [String: Object] = [:]
        var uploads: [String: Upload] = [:]
        var lastID = 0
        /// How often each part of each content arrived, by MD5 of the content; the whole object is part 0.
        var arrivals: [String: [Int: Int]] = [:]
        var arrivedBytes = 0
        /// By MD5 of the content.
        var repetitions: [String: Int] = [:]
        /// The MD5 of each object whose bytes were discarded.
        var archive: [String] = []
        var delay: UInt32 = 0
        var faults: Faults
        var refusal: Refusal?
        /// The only accepted access key; nil: any.
        var accessKey: String?
        /// The access keys of all requests without a fault.
        var served: Set<String> = []
        var requests = 0
        var kills = 0

        /// Counts a part that arrived, whatever upload it belongs to: so an upload that starts over counts as well.
        mutating func count(_ size: Int, part: Int, of content: String) {
            arrivedBytes += size
            let earlier = arrivals[content]?[part] ?? 0
            arrivals[content, default: [:]][part] = earlier + 1
            if earlier > 0 { repetitions[content, default: 0] += size }
        }
    }

    fileprivate final class Desk: Sendable {
        let state: Mutex<State>
        init(_ faults: @escaping Faults) { state = Mutex(State(faults: faults)) }
    }

    private let desk: Desk
    private let listener: KillableListener

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - delay: the delay of the answer to each part and object.
    ///   - faults: chooses the faults.
    package init(delay: Duration = .zero, faults: @escaping Faults = { _ in nil }) throws {
        let desk = Desk(faults)
        self.desk = desk
        desk.state.withLock { $0.delay = UInt32(delay / .microseconds(1)) }
        listener = try KillableListener { port in
            try ScriptedServer(port: port, keepsRequests: false) { request in
                let reply = desk.answer(request, named: Self.name(of: request))
                if request.method == "PUT" { usleep(desk.state.withLock { $0.delay }) }
                return reply
            }
        }
    }

    deinit { listener.kill() }

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
    /// Those of them that arrived again.
    package var repeatedBytes: Int { repetitions.values.reduce(0, +) }
    /// How many bytes of each content arrived again in whole parts and objects, by MD5. An upload that starts over counts
    /// as well.
    package var repetitions: [String: Int] { desk.state.withLock { $0.repetitions } }
    /// The MD5 of each finished object, computed from its bytes.
    package var finished: [String] {
        let (archive, objects) = desk.state.withLock { ($0.archive, $0.objects) }
        return archive + objects.values.map { Digest.md5($0.bytes) }
    }
    /// The number of requests.
    package var requestCount: Int { desk.state.withLock { $0.requests } }

    // MARK: Control by tests

    /// Changes the delay of the answer to each part and object.
    package func setDelay(_ delay: Duration) {
        desk.state.withLock { $0.delay = UInt32(delay / .microseconds(1)) }
    }

    /// Refuses one content from now on, by the name of its object.
    package func refuse(_ refusal: Refusal?) { desk.state.withLock { $0.refusal = refusal } }
    package func setFaults(_ faults: @escaping Faults) { desk.state.withLock { $0.faults = faults } }

    /// Answers requests with another access key as if it had expired, from now on.
    package func require(accessKey: String) { desk.state.withLock { $0.accessKey = accessKey } }

    /// Whether a request with this access key got its answer.
    package func hasServed(accessKey: String) -> Bool { desk.state.withLock { $0.served.contains(accessKey) } }

    /// Forgets an unfinished upload that has parts, and returns the MD5 of its content; nil if there is none.
    package func forgetUnfinished() -> String? {
        desk.state.withLock { state in
            let open = state.uploads.filter { !$0.value.parts.isEmpty }
            guard let victim = open.min(by: { $0.key < $1.key }) else { return nil }
            state.uploads[victim.key] = nil
            return victim.value.md5
        }
    }

    /// Replaces the object of a content by the MD5 of its bytes, to save memory.
    package func archive(_ key: String) {
        desk.state.withLock { state in
            for (name, object) in state.objects where object.fields["x-amz-meta-md5"] == key {
                state.archive.append(Digest.md5(object.bytes))
                state.objects[name] = nil
            }
        }
    }

    /// Ends the server. Every second time, it loses all unfinished uploads, as rclone does.
    package func kill() {
        listener.kill()
        desk.state.withLock { state in
            state.kills += 1
            if state.kills % 2 == 0 { state.uploads = [:] }
        }
    }

    /// Starts the server again, at the same port.
    package func start() throws { try listener.start() }
}

extension S3Server.Desk {
    fileprivate typealias Reply = ScriptedServer.Reply
    fileprivate typealias State = S3Server.State

    /// Executes a request, or its fault.
    fileprivate func answer(_ request: ScriptedServer.Request, named name: String) -> Reply {
        let accessKey = Self.accessKey(of: request)
        let fault = state.withLock { state -> FaultServer.Fault? in
            state.requests += 1
            let isKnown = state.accessKey.map { $0 == accessKey } ?? true
            let content = state.refusal.flatMap { request.target.contains($0.key) ? $0.key : nil } ?? ""
            let refusal = state.refusal?.fault(of: name, about: [content])
            let fault = isKnown ? state.faults(name) ?? refusal : .error(400, code: "ExpiredToken")
            if fault == nil, let accessKey { state.served.insert(accessKey) }
            return fault
        }
        let replacement = fault?.reply { status, code, fields in Self.error(status, code, fields) }
        if let replacement { return replacement }
        let reply = correctReply(to: request)
        return fault?.ending(of: reply) ?? reply
    }

    /// Returns the access key in `Authorization: AWS4-HMAC-SHA256 Credential=KEY/date/…`.
    private static func accessKey(of request: ScriptedServer.Request) -> String? {
        let field = request.header("Authorization") ?? ""
        return field.components(separatedBy: "Credential=").dropFirst().first?.split(separator: "/").first
            .map(String.init)
    }

    private func correctReply(to request: ScriptedServer.Request) -> Reply {
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
            case "GET" where key.isEmpty:
                let list = state.objects.keys.sorted().map { "<Contents><Key>\($0)</Key></Contents>" }
                return Self.document("ListBucketResult", "<IsTruncated>false</IsTruncated>\(list.joined())")
            case "HEAD", "GET": return Self.get(key, state)
            default: return Self.error(405, "MethodNotAllowed")
            }
        }
    }

    private static func put(_ request: ScriptedServer.Request, _ key: String, _ state: inout State) -> Reply {
        let tag = Digest.md5(request.body)
        state.count(request.body.count, part: 0, of: tag)
        if state.objects[key] != nil { return error(412, "PreconditionFailed") }
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
            state.count(request.body.count, part: number, of: upload.md5)
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

    private static func error(_ status: Int, _ code: String, _ fields: [(String, String)] = []) -> Reply {
        let text = "<Error><Code>\(code)</Code><Message>the store says \(code)</Message></Error>"
        return .response(
            status: status, headers: [("Content-Type", "application/xml")] + fields, body: Array(text.utf8))
    }
}
