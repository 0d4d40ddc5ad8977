import HTTPTypes
import Hummingbird

/// A file in `POST /fileSection/preLoad.do`
struct AnnouncedFile {
    private static let longestMimeType = 255

    let fileName: String
    let totalSize: Int64
    let md5: String
    let mimeType: String?
    let path: String?
    let modified: LenientTime?
    let sha256: Hex256?

    /// Throws a ``Refusal`` if a required field is missing or a field has the wrong type or value.
    init(_ json: JSON) throws(Refusal) {
        guard let fileName = json["fileName"]?.string, let totalSize = json["totalSize"]?.integer,
            let md5 = json["md5"]?.string
        else { throw .notExpectedJSON }
        guard !fileName.isEmpty else { throw .badRequest("fileName must not be empty.") }
        self.fileName = fileName
        self.totalSize = totalSize
        self.md5 = md5
        mimeType = try Self.mimeType(json)
        path = try json.text("path")
        modified = try Self.modified(json)
        sha256 = try Self.sha256(json)
        try Self.checkFacts(json)
    }

    private static func mimeType(_ json: JSON) throws(Refusal) -> String? {
        guard let type = try json.text("mimeType") else { return nil }
        let hasControls = type.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard type.utf8.count <= longestMimeType, !hasControls else {
            throw .badRequest("mimeType must have at most \(longestMimeType) bytes and no control characters.")
        }
        return type
    }

    private static func modified(_ json: JSON) throws(Refusal) -> LenientTime? {
        guard let value = json["modified"] else { return nil }
        guard let time = LenientTime(value) else {
            throw .badRequest("modified must be a number of milliseconds since 1970, or such as 2026-11-21T09:30:00Z.")
        }
        return time
    }

    private static func sha256(_ json: JSON) throws(Refusal) -> Hex256? {
        guard let text = try json.text("sha256") else { return nil }
        guard let digest = Hex256(text) else { throw .badRequest("sha256 must be 64 hex digits.") }
        return digest
    }

    /// Checks the facts about a picture or video. The server stores none of them, but a client with impossible values
    /// has a bug and should see an error.
    private static func checkFacts(_ json: JSON) throws(Refusal) {
        for name in ["width", "height"] {
            guard let value = json[name] else { continue }
            guard let pixels = value.integer, pixels >= 0 else {
                throw .badRequest("\(name) must be a whole number of pixels, 0 or more.")
            }
        }
        guard let value = json["duration"] else { return }
        guard let seconds = value.double, seconds >= 0 else {
            throw .badRequest("duration must be a number of seconds, 0 or more.")
        }
    }
}

/// The `file_block` header field of `POST /fileSection/upload.do`.
struct FileBlock {
    let id: String
    let totalSize: Int64
    let blockTotal: Int64
    /// From 1.
    let blockNo: Int64

    /// Returns the blocks of a JSON array; nil unless the field is one.
    static func list(_ field: String) -> [FileBlock]? {
        guard let items = JSONParser.value(of: field)?.array else { return nil }
        let blocks = items.compactMap(FileBlock.init)
        return blocks.count == items.count ? blocks : nil
    }

    private init?(_ block: JSON) {
        guard let id = block["id"]?.string, let totalSize = block["totalSize"]?.integer,
            let blockTotal = block["blockTotal"]?.integer, let blockNo = block["blockNo"]?.integer
        else { return nil }
        self.id = id
        self.totalSize = totalSize
        self.blockTotal = blockTotal
        self.blockNo = blockNo
    }
}

extension JSON {
    /// Returns a text member, or nil if the member is missing or null. Throws if the member has another type.
    func text(_ name: String) throws(Refusal) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string else { throw .badRequest("\(name) must be a string.") }
        return text
    }
}

extension Response {
    private static let success: JSON = [:]

    /// `{"code":…,"message":…,"data":…}`
    /// - Parameter name: The member `status`; left out if nil.
    static func json(
        _ data: JSON = success, status: HTTPResponse.Status = .ok, message: String = "OK", name: String? = nil
    ) -> Response {
        var members = [
            JSON.Member(name: "code", value: .integer(Int64(status.code))),
            JSON.Member(name: "message", value: .string(message)), JSON.Member(name: "data", value: data),
        ]
        if let name { members.insert(JSON.Member(name: "status", value: .string(name)), at: 0) }
        let reply = JSON.object(members)
        return Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: reply.bytes)))
    }

    static func refusal(_ refusal: Refusal) -> Response {
        let data = refusal.revision.map { JSON.object([JSON.Member(name: "revision", value: .integer(Int64($0)))]) }
        var response = Response.json(data ?? success, status: refusal.status, message: refusal.message)
        if let seconds = refusal.retryAfter { response.headers[.retryAfter] = "\(seconds)" }
        if let allowed = refusal.allowed { response.headers[.allow] = allowed }
        if refusal.status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }
}

extension Request {
    /// The largest JSON body, in bytes.
    static let longestJSON = 1 << 20

    /// The announced length of the body; nil if it comes in chunks.
    var announcedLength: Int? { headers[.contentLength].flatMap { Int($0) } }

    /// Receives the body of a message in JSON. Throws a ``Refusal`` if it is too long.
    func message() async throws -> ByteBuffer {
        guard announcedLength ?? 0 <= Self.longestJSON else { throw Refusal.tooLarge("The body is longer than 1 MiB.") }
        var body = ByteBuffer()
        for try await var chunk in self.body {
            guard body.readableBytes + chunk.readableBytes <= Self.longestJSON else {
                throw Refusal.tooLarge("The body is longer than 1 MiB.")
            }
            if body.readableBytes == 0 { body = chunk } else { body.writeBuffer(&chunk) }
        }
        return body
    }
}
