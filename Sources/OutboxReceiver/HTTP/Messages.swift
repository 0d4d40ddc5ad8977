import FoundationEssentials
import HTTPTypes
import Hummingbird

/// `POST /fileSection/preLoad.do`
struct PreLoadRequest: Decodable {
    struct File: Decodable {
        let fileName: String
        let totalSize: Int64
        let md5: String
        let mimeType: String?
        let path: String?
        let modified: LenientTime?
    }

    let fileCount: Int?
    let files: [File]
}

/// The `file_block` header field of `POST /fileSection/upload.do`.
struct FileBlock: Decodable {
    let id: String
    let totalSize: Int64
    let blockTotal: Int
    /// From 1.
    let blockNo: Int
}

/// `POST /fileSection/isFinish.do` and `delete.do`
struct FileIDs: Decodable {
    let fileIds: [String]
}

/// `POST /source/commit.do`
struct CommitRequest: Decodable {
    let sourceId: String
    let revision: Int
    let title: String?
    let cover: String?
    let fileIds: [String]
    let createDate: String?
}

/// The body of every JSON reply.
struct Reply<Payload: Encodable>: Encodable {
    let code: Int
    let message: String
    let data: Payload
}

/// A reply without data.
struct Nothing: Encodable {}

struct PreLoadReply: Encodable {
    let fileIds: [String]
    let existing: [String]?
}

struct FinishReply: Encodable {
    let finishStatus: Int
    let failFileIds: String
    let urls: [String: String]
    let md5: [String: String]
    let unknownFileIds: String?
}

struct CommitReply: Encodable {
    let url: String
}

struct PortraitReply: Encodable {
    let userImg: String
}

extension Response {
    static func json(_ payload: some Encodable, status: HTTPResponse.Status = .ok, message: String = "OK") throws
        -> Response
    {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        let data = try encoder.encode(Reply(code: status.code, message: message, data: payload))
        return Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }

    static func refusal(_ refusal: Refusal) throws -> Response {
        var response = try Response.json(Nothing(), status: refusal.status, message: refusal.message)
        if let seconds = refusal.retryAfter { response.headers[.retryAfter] = "\(seconds)" }
        if refusal.status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }
}

extension Request {
    /// The most a JSON body may have.
    static let longestJSON = 1 << 20

    func json<Message: Decodable>(_ type: Message.Type) async throws -> Message {
        let text = headers[.contentLength].flatMap { Int($0) } ?? 0
        guard text <= Self.longestJSON else { throw Refusal.tooLarge("The body is longer than 1 MiB.") }
        var body = ByteBuffer()
        for try await var chunk in self.body {
            guard body.readableBytes + chunk.readableBytes <= Self.longestJSON else {
                throw Refusal.tooLarge("The body is longer than 1 MiB.")
            }
            body.writeBuffer(&chunk)
        }
        do {
            return try JSONDecoder().decode(type, from: Data(body.readableBytesView))
        } catch {
            throw Refusal.badRequest("The body is not the JSON expected here.")
        }
    }
}
