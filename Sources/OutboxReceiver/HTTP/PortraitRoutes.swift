import Crypto
import Glibc
import HTTPTypes
import Hummingbird
import NIOCore
import SystemPackage

/// Profile pictures. Each gets a URL of its own, so that a cache never shows an old one for a new one.
struct PortraitRoutes {
    private static let longestPicture = 20 << 20
    /// What the protocol appends to say which size is meant. This server keeps one size.
    private static let style = "!150x150"

    let store: Store
    let links: Links

    func replace(_ request: Request, user: String) async throws -> Response {
        let body = try await body(of: request)
        let contentType = request.headers[.contentType]
        let picture = try Self.picture(in: body, contentType: contentType)
        guard picture.readableBytesView.starts(with: [0xff, 0xd8, 0xff]) else {
            throw Refusal(status: .unsupportedMediaType, message: "The portrait must be a JPEG.")
        }
        let token = Hex128.random()
        try save(picture, as: "\(token).jpg")
        try await store.settle()
        let digest = Hex128(Insecure.MD5.hash(data: picture.readableBytesView))
        store.requests.portrait(md5: digest, bytes: picture.readableBytes, user: user)
        return .json(["userImg": .string(links.portrait(token) + Self.style)])
    }

    private func body(of request: Request) async throws -> ByteBuffer {
        var body = ByteBuffer()
        for try await var chunk in request.body {
            guard body.readableBytes + chunk.readableBytes <= Self.longestPicture else {
                throw Refusal.tooLarge("A portrait may have at most \(Self.longestPicture) bytes.")
            }
            body.writeBuffer(&chunk)
        }
        return body
    }

    /// The length of the part is what lies between its head and the first boundary behind it; everything else is left
    /// to the strict parser.
    private static func picture(in body: ByteBuffer, contentType: String?) throws(Refusal) -> ByteBuffer {
        let bytes = body.readableBytesView
        guard let contentType, let boundary = MultipartBoundary(contentType: contentType),
            let start = bytes.firstRange(of: [13, 10, 13, 10])?.upperBound,
            let end = bytes[start...].firstRange(of: Array("\r\n--\(boundary.text)".utf8))?.lowerBound
        else {
            throw .badRequest("The body must be multipart/form-data with one part named portrait.")
        }
        var parser = try SectionParser(contentType: contentType, name: "portrait", length: end - start)
        let picture = try parser.payload(in: body)
        try parser.finish()
        return picture ?? ByteBuffer()
    }

    private func save(_ picture: ByteBuffer, as name: String) throws(Errno) {
        let temporary = "\(name).part"
        let file = try store.portraits.open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
        var outcome: Result<Void, Errno> = .success(())
        picture.withUnsafeReadableBytes { bytes in
            do throws(Errno) { try file.write(bytes, at: 0) } catch { outcome = .failure(error) }
        }
        do throws(Errno) {
            try outcome.get()
            if store.synchronizes { try file.finishWriting() }
            try store.portraits.rename(temporary, into: store.portraits, as: name)
        } catch {
            try? store.portraits.remove(temporary)
            throw error
        }
    }

    func picture(_ name: Substring, _ request: Request) throws -> Response {
        let plain = name.prefix { $0 != "!" }
        guard plain.hasSuffix(".jpg"), let token = Hex128(plain.dropLast(4)),
            let file = try store.portraits.openExisting("\(token).jpg")
        else { throw Refusal.notFound }
        return try Download.response(
            file,
            [
                .contentType: "image/jpeg", .eTag: "\"\(token)\"",
                .cacheControl: "private, max-age=31536000, immutable",
            ], to: request)
    }
}
