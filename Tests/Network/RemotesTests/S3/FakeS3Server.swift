import Digests
import Foundation
import HTTPTypes
import Remotes
import Synchronization
import Transport
import UploadCore

/// An S3 store in memory: one bucket that verifies signatures, digests, part numbers and conditions.
final class FakeS3Server: SourceConformanceServer {
    /// How real stores differ.
    struct Quirks: OptionSet, Sendable {
        let rawValue: Int
        /// The quotes of tags in XML are escaped twice.
        static let escapesTags = Quirks(rawValue: 1)
        /// Replies to parts and objects have no tag.
        static let hidesTags = Quirks(rawValue: 2)
        /// `If-None-Match` has no effect.
        static let ignoresConditions = Quirks(rawValue: 4)
        /// A request with `If-None-Match` is not implemented.
        static let refusesConditions = Quirks(rawValue: 8)
        /// A repeated completion is answered with `NoSuchUpload`, otherwise as the first one.
        static let forgetsCompletions = Quirks(rawValue: 16)
        /// An unknown upload is answered with `NoSuchKey`.
        static let missesKeys = Quirks(rawValue: 32)
        /// Objects can't be read.
        static let hidesObjects = Quirks(rawValue: 64)
        /// Tags say nothing about the content.
        static let oddTags = Quirks(rawValue: 128)
        /// Bytes change while they are stored.
        static let corrupts = Quirks(rawValue: 256)
        /// A part of an unknown upload, and its completion, are answered with a page of HTML and 500.
        static let failsOnUnknown = Quirks(rawValue: 512)
        /// Parts are joined in another order.
        static let joinsWrongly = Quirks(rawValue: 1024)
    }

    struct Part: Sendable {
        var bytes: [UInt8]
        var size: Int
        var tag: String
        var sha256: String?
    }

    struct Object: Sendable {
        var bytes: [UInt8]
        var size: Int
        var tag: String
        var headers: [String: String]
    }

    struct Upload: Sendable {
        var key: String
        var headers: [String: String]
        var parts: [Int: Part] = [:]
    }

    struct State: Sendable {
        var quirks: Quirks = []
        var keys = AccessKeys(id: "AKIAEXAMPLE", secret: "secret/+")
        var region = "eu-central-1"
        /// How far the server's clock is ahead, in seconds.
        var ahead: Int64 = 0
        var pageSize = 1000
        /// The time by which the remote's lists get old.
        var now = ContinuousClock.now
        var smallestPart = 512 << 10
        var objects: [String: Object] = [:]
        var uploads: [String: Upload] = [:]
        /// The keys of completed uploads, by id.
        var completed: [String: String] = [:]
        /// `METHOD operation` of each request.
        var log: [String] = []
        var losesReply = false
        /// The operation that loses a reply, after so many that arrive; nil once it is lost.
        var losing: (operation: String, after: Int)?
        var cutsPart = false
        var isDown = false
        /// Errors that answer the next requests of an operation. Without a code, another server answers.
        var errors: [(operation: String, status: Int, code: String)] = []
        /// An error that the next completion reports in a 200, after it joined the parts.
        var errorInSuccess: String?
        var lastID = 0
    }

    /// The state, shared with the transport's script.
    final class Shared: Sendable {
        let value: Mutex<State>
        init(_ state: State) { value = Mutex(state) }
    }

    static let bucket = "https://s3.example.org/base/photos"

    let state: Shared
    let s3: S3Remote
    private let options: S3Options
    let transport: ScriptedTransport
    /// The keys that the remote uses.
    let credentials: FixedKeys
    var remote: any Remote { s3 }
    var sources: any SourceRemote { s3 }

    init(_ quirks: Quirks = [], change: (inout S3Options) -> Void = { _ in }) {
        var first = State()
        first.quirks = quirks
        let state = Shared(first)
        self.state = state
        transport = ScriptedTransport { Self.take($0, state) }
        credentials = FixedKeys(first.keys)
        var options = S3Options(endpoint: "https://s3.example.org/base/", bucket: "photos")
        options.region = first.region
        options.prefix = "in/"
        options.partSize = 512 << 10
        change(&options)
        self.options = options
        s3 = S3Remote(
            options, account: "me", transport: transport, credentials: credentials,
            now: { state.value.withLock { $0.now } })
    }

    /// The remote of another run, or of another agent.
    func another() -> S3Remote { S3Remote(options, account: "me", transport: transport, credentials: credentials) }

    func loseNextReply() { state.value.withLock { $0.losesReply = true } }
    func cutNextFragment(after bytes: Int) { state.value.withLock { $0.cutsPart = true } }
    func forgetEverything() { state.value.withLock { $0.uploads = [:] } }
    func setDown(_ isDown: Bool) { change { $0.isDown = isDown } }
    func expireCredentials() { change { $0.keys.id = "AKIASECOND" } }
    func renewCredentials() { credentials.set(state.value.withLock { $0.keys }) }
    func dropLastByte() {
        change { state in
            for (id, upload) in state.uploads {
                guard let last = upload.parts.keys.max() else { continue }
                state.uploads[id]?.parts[last]?.bytes.removeLast()
                state.uploads[id]?.parts[last]?.size -= 1
            }
        }
    }
    func answerNext(_ status: Int) { change { $0.errors.append(("UploadPart", status, "Status\(status)")) } }
    func anotherRun() -> any Remote { another() }
    /// The store takes parts in any order.
    func pretendToHave(_ bytes: UInt64) {}
    func arrived(_ index: Int) -> Int? { state.value.withLock { $0.uploads.values.first?.parts[index + 1]?.size } }
    func holds(_ content: TestContent) -> Bool {
        state.value.withLock { state in state.objects.values.contains { $0.bytes == content.bytes } }
    }
    func change(_ body: (inout State) -> Void) { state.value.withLock { body(&$0) } }
    var openUploads: Int { state.value.withLock { $0.uploads.count } }
    var posts: Int { state.value.withLock { $0.objects.keys.count { $0.hasPrefix("in/posts/") } } }
    var log: [String] { state.value.withLock { $0.log } }
    var objects: [String: Object] { state.value.withLock { $0.objects } }

    // MARK: Requests

    private static func take(_ request: SeenRequest, _ state: Shared) -> Result<HTTPReply, TransportError> {
        state.value.withLock { state in
            let query = URLComponents(string: request.url)?.queryItems ?? []
            let values = Dictionary(query.map { ($0.name, $0.value ?? "") }) { $1 }
            let operation = operation(request.method, values)
            if state.isDown { return .failure(.connect("connection refused")) }
            state.log.append(operation)
            if operation == "UploadPart" || operation == "PutObject", state.cutsPart {
                state.cutsPart = false
                return .failure(.reset("the connection broke"))
            }
            var reply = answer(request, operation, values, &state)
            reply.headers[.date] = date(ahead: state.ahead)
            reply.headers[HTTPField.Name("x-amz-request-id") ?? .accept] = "1"
            if request.method == "HEAD" { reply.body = [] }
            defer { state.losesReply = false }
            let isLost = state.losesReply || loses(operation, &state)
            return isLost ? .failure(.reset("the reply was lost")) : .success(reply)
        }
    }

    private static func loses(_ operation: String, _ state: inout State) -> Bool {
        guard let losing = state.losing, losing.operation == operation else { return false }
        state.losing = losing.after > 0 ? (operation, losing.after - 1) : nil
        return losing.after == 0
    }

    private static func operation(_ method: String, _ query: [String: String]) -> String {
        switch (method, query["uploads"] != nil, query["uploadId"] != nil) {
        case ("POST", true, _): "CreateMultipartUpload"
        case ("POST", _, true): "CompleteMultipartUpload"
        case ("PUT", _, true): "UploadPart"
        case ("PUT", _, _): "PutObject"
        case ("GET", _, true): "ListParts"
        case ("GET", _, _): query["list-type"] == "2" ? "ListObjectsV2" : "GetObject"
        case ("HEAD", _, _): "HeadObject"
        case ("DELETE", _, true): "AbortMultipartUpload"
        case ("DELETE", _, _): "DeleteObject"
        default: "\(method)"
        }
    }

    private static func answer(
        _ request: SeenRequest, _ operation: String, _ query: [String: String], _ state: inout State
    ) -> HTTPReply {
        let now = Int64(Date().timeIntervalSince1970) + state.ahead
        let check = SignatureCheck(keys: state.keys, region: state.region, now: now)
        if let code = check.objection(to: request) {
            return error(code == "AuthorizationHeaderMalformed" ? 400 : 403, code, "<Region>\(state.region)</Region>")
        }
        if let index = state.errors.firstIndex(where: { $0.operation == operation }) {
            let wanted = state.errors.remove(at: index)
            return wanted.code.isEmpty ? page(wanted.status) : error(wanted.status, wanted.code)
        }
        guard request.url.hasPrefix(bucket + "/"), let path = URLComponents(string: request.url)?.path else {
            return error(404, "NoSuchBucket")
        }
        let key = String(path.dropFirst("/base/photos/".count))
        let headers = Dictionary(request.headers.map { ($0.key.lowercased(), $0.value) }) { $1 }
        if let md5 = headers["content-md5"], md5 != Data(MD5Hasher.hash(request.body)).base64EncodedString() {
            return error(400, "BadDigest")
        }
        if let code = checksumObjection(headers, request.body) { return error(400, code) }
        if headers["if-none-match"] != nil, state.quirks.contains(.refusesConditions) {
            return error(501, "NotImplemented")
        }
        let isTaken =
            headers["if-none-match"] == "*" && state.objects[key] != nil && !state.quirks.contains(.ignoresConditions)
        switch operation {
        case "HeadObject", "GetObject": return read(key, &state)
        case "ListObjectsV2": return list(query, state)
        case "PutObject":
            if isTaken { return error(412, "PreconditionFailed") }
            let tag = state.quirks.contains(.oddTags) ? "odd" : digest(of: request.body, state)
            state.objects[key] = Object(bytes: request.body, size: request.body.count, tag: tag, headers: headers)
            return success(tag: tag, state)
        case "DeleteObject":
            state.objects[key] = nil
            return HTTPReply(status: 204)
        case "CreateMultipartUpload":
            state.lastID += 1
            state.uploads["id/+ \(state.lastID)"] = Upload(key: key, headers: headers)
            return xml("InitiateMultipartUploadResult", "<UploadId>id/+ \(state.lastID)</UploadId>")
        default: return multipart(request, operation, key, query, headers, isTaken: isTaken, &state)
        }
    }

    private static func read(_ key: String, _ state: inout State) -> HTTPReply {
        if state.quirks.contains(.hidesObjects) { return error(403, "AccessDenied") }
        guard let object = state.objects[key] else { return error(404, "NoSuchKey") }
        var reply = success(tag: object.tag, state)
        reply.headers[.contentLength] = "\(object.size)"
        for (name, value) in object.headers where name.hasPrefix("x-amz-meta-") || name.contains("encryption") {
            if let name = HTTPField.Name(name) { reply.headers[name] = value }
        }
        return reply
    }

    private static func multipart(
        _ request: SeenRequest, _ operation: String, _ key: String, _ query: [String: String],
        _ headers: [String: String], isTaken: Bool, _ state: inout State
    ) -> HTTPReply {
        let id = query["uploadId"] ?? ""
        let unknown = error(404, state.quirks.contains(.missesKeys) ? "NoSuchKey" : "NoSuchUpload")
        if operation == "CompleteMultipartUpload", state.completed[id] == key {
            if state.quirks.contains(.forgetsCompletions) { return unknown }
            return isTaken ? error(412, "PreconditionFailed") : xml("CompleteMultipartUploadResult", "")
        }
        guard let upload = state.uploads[id], upload.key == key else {
            let isWrite = ["UploadPart", "CompleteMultipartUpload"].contains(operation)
            return state.quirks.contains(.failsOnUnknown) && isWrite ? page(500) : unknown
        }
        switch operation {
        case "UploadPart":
            guard let number = query["partNumber"].flatMap({ Int($0) }), (1...10_000).contains(number) else {
                return error(400, "InvalidArgument")
            }
            let tag = state.quirks.contains(.oddTags) ? "odd\(number)" : digest(of: request.body, state)
            state.uploads[id]?.parts[number] = Part(
                bytes: request.body, size: request.body.count, tag: tag, sha256: headers["x-amz-checksum-sha256"])
            return success(tag: tag, state)
        case "ListParts": return list(upload, after: query["part-number-marker"].flatMap { Int($0) } ?? 0, state)
        case "AbortMultipartUpload":
            state.uploads[id] = nil
            return HTTPReply(status: 204)
        default:
            if isTaken { return error(412, "PreconditionFailed") }
            return complete(upload, id, request.body, &state)
        }
    }

    private static func complete(_ upload: Upload, _ id: String, _ body: [UInt8], _ state: inout State) -> HTTPReply {
        guard let listed = CompletionReader.parts(in: body) else { return error(400, "MalformedXML") }
        guard listed.map(\.number) == listed.map(\.number).sorted(), !listed.isEmpty else {
            return error(400, "InvalidPartOrder")
        }
        var parts: [Part] = []
        for wanted in listed {
            guard let part = upload.parts[wanted.number], wanted.tag == "\"\(part.tag)\"" else {
                return error(400, "InvalidPart")
            }
            if upload.headers["x-amz-checksum-algorithm"] == "SHA256", wanted.sha256 != part.sha256 {
                return error(400, wanted.sha256 == nil ? "InvalidRequest" : "InvalidPart")
            }
            parts.append(part)
        }
        if parts.dropLast().contains(where: { $0.size < state.smallestPart }) { return error(400, "EntityTooSmall") }
        if state.quirks.contains(.joinsWrongly) { parts.reverse() }
        let digests = parts.flatMap { ContentKey(hexadecimal: $0.tag)?.bytes ?? [] }
        let tag = state.quirks.contains(.oddTags) ? "odd-odd" : "\(MD5Hasher.hash(digests).hexadecimal)-\(parts.count)"
        state.objects[upload.key] = Object(
            bytes: parts.flatMap(\.bytes), size: parts.reduce(0) { $0 + $1.size }, tag: tag, headers: upload.headers)
        state.uploads[id] = nil
        state.completed[id] = upload.key
        if let code = state.errorInSuccess {
            state.errorInSuccess = nil
            return error(200, code)
        }
        return xml("CompleteMultipartUploadResult", "<ETag>\(escaped(tag, state))</ETag>")
    }

    private static func list(_ upload: Upload, after marker: Int, _ state: State) -> HTTPReply {
        let numbers = upload.parts.keys.filter { $0 > marker }.sorted()
        let page = numbers.prefix(state.pageSize)
        let entries = page.compactMap { number in upload.parts[number].map { (number, $0) } }.map { number, part in
            """
            <Part><PartNumber>\(number)</PartNumber><ETag>\(escaped(part.tag, state))</ETag><Size>\(part.size)</Size>\
            \(part.sha256.map { "<ChecksumSHA256>\($0)</ChecksumSHA256>" } ?? "")</Part>
            """
        }
        let next = page.count < numbers.count ? page.last : nil
        let marks = next.map { "<IsTruncated>true</IsTruncated><NextPartNumberMarker>\($0)</NextPartNumberMarker>" }
        return xml("ListPartsResult", (marks ?? "<IsTruncated>false</IsTruncated>") + entries.joined())
    }

    private static func list(_ query: [String: String], _ state: State) -> HTTPReply {
        let after = query["continuation-token"] ?? ""
        let keys = state.objects.keys.filter { $0.hasPrefix(query["prefix"] ?? "") && $0 > after }.sorted()
        let page = keys.prefix(state.pageSize)
        let next = page.count < keys.count ? page.last : nil
        let token = next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" }
        return xml(
            "ListBucketResult",
            "<IsTruncated>\(next != nil)</IsTruncated>\(token ?? "")"
                + page.map { "<Contents><Key>\($0)</Key></Contents>" }.joined())
    }

    private static func checksumObjection(_ headers: [String: String], _ body: [UInt8]) -> String? {
        if let sha256 = headers["x-amz-checksum-sha256"], sha256 != Data(SHA256Hasher.hash(body)).base64EncodedString()
        {
            return "XAmzContentChecksumMismatch"
        }
        guard let written = headers["x-amz-checksum-crc64nvme"] else { return nil }
        var crc = CRC64NVME()
        body.withUnsafeBytes { crc.update($0) }
        let value = withUnsafeBytes(of: crc.value.bigEndian) { Data($0).base64EncodedString() }
        return value == written ? nil : "XAmzContentChecksumMismatch"
    }

    // MARK: Replies

    private static func success(tag: String, _ state: State) -> HTTPReply {
        var reply = HTTPReply(status: 200)
        if !state.quirks.contains(.hidesTags) { reply.headers[.eTag] = "\"\(tag)\"" }
        return reply
    }

    private static func escaped(_ tag: String, _ state: State) -> String {
        state.quirks.contains(.escapesTags) ? "&amp;quot;\(tag)&amp;quot;" : "&quot;\(tag)&quot;"
    }

    private static func xml(_ name: String, _ content: String, status: Int = 200) -> HTTPReply {
        let head = #"<?xml version="1.0" encoding="UTF-8"?>"#
        let body = "\(head)\n<\(name) xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(content)</\(name)>"
        return HTTPReply(status: status, headers: [.contentType: "application/xml"], body: Array(body.utf8))
    }

    /// The page of another server.
    private static func page(_ status: Int) -> HTTPReply {
        HTTPReply(status: status, headers: [.contentType: "text/html"], body: Array("<html>no</html>".utf8))
    }

    private static func digest(of bytes: [UInt8], _ state: State) -> String {
        MD5Hasher.hash(state.quirks.contains(.corrupts) ? bytes + [0] : bytes).hexadecimal
    }

    static func error(_ status: Int, _ code: String, _ more: String = "") -> HTTPReply {
        xml("Error", "<Code>\(code)</Code><Message>no</Message>\(more)", status: status)
    }

    private static func date(ahead: Int64) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date(timeIntervalSinceNow: Double(ahead)))
    }
}

/// Access keys that a test can change.
final class FixedKeys: CredentialSource {
    private let keys: Mutex<AccessKeys?>
    init(_ keys: AccessKeys?) { self.keys = Mutex(keys) }
    func set(_ new: AccessKeys?) { keys.withLock { $0 = new } }
    func credential() -> Credential? { keys.withLock { $0.map(Credential.keys) } }
}

/// Reads a `CompleteMultipartUpload` with simple means.
enum CompletionReader {
    static func parts(in body: [UInt8]) -> [(number: Int, tag: String, sha256: String?)]? {
        let text = String(decoding: body, as: UTF8.self)
        guard text.hasPrefix("<CompleteMultipartUpload"), text.hasSuffix("</CompleteMultipartUpload>") else {
            return nil
        }
        var parts: [(number: Int, tag: String, sha256: String?)] = []
        for part in text.components(separatedBy: "<Part>").dropFirst() {
            guard let number = value("PartNumber", part).flatMap({ Int($0) }), let tag = value("ETag", part) else {
                return nil
            }
            parts.append((number, tag.replacingOccurrences(of: "&quot;", with: "\""), value("ChecksumSHA256", part)))
        }
        return parts
    }

    private static func value(_ name: String, _ text: String) -> String? {
        guard let start = text.range(of: "<\(name)>"), let end = text.range(of: "</\(name)>") else { return nil }
        return String(text[start.upperBound..<end.lowerBound])
    }
}
