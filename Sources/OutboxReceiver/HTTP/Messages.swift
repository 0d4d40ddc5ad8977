import HTTPTypes
import Hummingbird

/// A file in `POST /fileSection/preLoad.do`
struct AnnouncedFile {
    let fileName: String
    let totalSize: Int64
    let md5: String
    let mimeType: String?
    let path: String?
    let modified: LenientTime?

    /// Nil when something needed is missing.
    init?(_ json: JSON) {
        guard let fileName = json["fileName"]?.string, let totalSize = json["totalSize"]?.integer,
            let md5 = json["md5"]?.string
        else { return nil }
        self.fileName = fileName
        self.totalSize = totalSize
        self.md5 = md5
        mimeType = json["mimeType"]?.string
        path = json["path"]?.string
        modified = json["modified"].map { LenientTime($0) }
    }
}

/// The `file_block` header field of `POST /fileSection/upload.do`.
struct FileBlock {
    let id: String
    let totalSize: Int64
    let blockTotal: Int64
    /// From 1.
    let blockNo: Int64

    /// Nil when the field is not an array of exactly one block.
    init?(field: String) {
        guard let blocks = JSONParser.value(of: field)?.array, blocks.count == 1, let id = blocks[0]["id"]?.string,
            let totalSize = blocks[0]["totalSize"]?.integer, let blockTotal = blocks[0]["blockTotal"]?.integer,
            let blockNo = blocks[0]["blockNo"]?.integer
        else { return nil }
        self.id = id
        self.totalSize = totalSize
        self.blockTotal = blockTotal
        self.blockNo = blockNo
    }
}

extension Response {
    private static let success: JSON = [:]

    /// `{"code":…,"message":…,"data":…}`
    static func json(_ data: JSON = success, status: HTTPResponse.Status = .ok, message: String = "OK") -> Response {
        let reply: JSON = ["code": .integer(Int64(status.code)), "message": .string(message), "data": data]
        return Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: reply.bytes)))
    }

    static func refusal(_ refusal: Refusal) -> Response {
        var response = Response.json(status: refusal.status, message: refusal.message)
        if let seconds = refusal.retryAfter { response.headers[.retryAfter] = "\(seconds)" }
        if refusal.status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }
}

extension Request {
    /// The most a JSON body may have.
    static let longestJSON = 1 << 20

    /// The body's JSON.
    func json() async throws -> JSON {
        let length = headers[.contentLength].flatMap { Int($0) } ?? 0
        guard length <= Self.longestJSON else { throw Refusal.tooLarge("The body is longer than 1 MiB.") }
        var body = ByteBuffer()
        for try await var chunk in self.body {
            guard body.readableBytes + chunk.readableBytes <= Self.longestJSON else {
                throw Refusal.tooLarge("The body is longer than 1 MiB.")
            }
            if body.readableBytes == 0 { body = chunk } else { body.writeBuffer(&chunk) }
        }
        guard let json = body.withUnsafeReadableBytes({ JSONParser.value(of: $0) }) else {
            throw Refusal.notExpectedJSON
        }
        return json
    }
}
