import Glibc
import HTTPTypes
import Hummingbird
import NIOCore
import SystemPackage

/// Answers `GET` with the bytes of a file.
struct Download {
    /// A thousand slow downloads hold a piece each.
    private static let pieceSize: Int64 = 32 * 1024

    let store: Store

    /// - Parameter token: The secret part of the URL.
    func content(_ token: Substring, _ request: Request) throws -> Response {
        guard let token = Hex128(token), let content = store.content(token: token),
            store.objects.holds(content), let file = try store.objects.open(content.object)
        else { throw Refusal.notFound }
        let type = MediaType(content.type)
        var headers: HTTPFields = [
            .contentType: type.text,
            .eTag: "\"\(content.key.md5)\"",
            .cacheControl: "private, max-age=31536000, immutable",
            .contentSecurityPolicy: Self.securityPolicy(type),
        ]
        if !type.isShownInPlace {
            headers[.contentDisposition] = "attachment; filename*=UTF-8''\(Links.encoded(content.name))"
        }
        return try Self.response(file, headers, to: request)
    }

    /// A browser that opens a video wraps the video in a page. A sandboxed page could not load the video.
    private static func securityPolicy(_ type: MediaType) -> String {
        type.showing == .video ? "default-src 'none'; media-src 'self'" : "default-src 'none'; sandbox"
    }

    /// Returns the file, the requested part of the file, or a 304 (Not Modified), with these header fields.
    static func response(_ file: OpenFile, _ headers: HTTPFields, to request: Request) throws -> Response {
        let size = try file.status().size
        var headers = headers
        headers[.acceptRanges] = "bytes"
        headers[.xContentTypeOptions] = "nosniff"
        headers.keepSecret()
        if let known = request.headers[.ifNoneMatch], EntityTag.matches(known, headers[.eTag]) {
            return Response(status: .notModified, headers: headers)
        }
        switch ByteRange(request.headers, entityTag: headers[.eTag], size: size) {
        case .whole:
            return Response(status: .ok, headers: headers, body: body(file, 0..<size))
        case .part(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
            return Response(status: .partialContent, headers: headers, body: body(file, range))
        case .unsatisfiable:
            var response = Response.refusal(
                Refusal(status: .rangeNotSatisfiable, message: "The file has \(size) bytes."))
            response.headers[.contentRange] = "bytes */\(size)"
            return response
        }
    }

    private static func body(_ file: OpenFile, _ range: Range<Int64>) -> ResponseBody {
        ResponseBody(contentLength: range.count) { writer in
            var offset = range.lowerBound
            while offset < range.upperBound {
                let next = min(offset + pieceSize, range.upperBound)
                try await writer.write(try piece(of: file, offset..<next))
                offset = next
            }
            try await writer.finish(nil)
        }
    }

    private static func piece(of file: OpenFile, _ range: Range<Int64>) throws -> ByteBuffer {
        var piece = ByteBufferAllocator().buffer(capacity: range.count)
        let count = try piece.writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { buffer in
            try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count]), at: range.lowerBound)
        }
        // Another program truncated the file. Closing the connection is the only way left to tell the client.
        guard count == range.count else { throw Errno.ioError }
        return piece
    }
}

/// Entity tags for `ETag` and `If-None-Match`.
enum EntityTag {
    /// Returns a strong entity tag for a document that is generated for each request.
    static func of(_ text: String) -> String {
        "\"\(RunningMD5.hash(text))\""
    }

    /// Compares weakly, as If-None-Match requires (RFC 9110, 13.1.2).
    static func matches(_ field: String, _ entityTag: String?) -> Bool {
        guard let entityTag else { return false }
        return field.split(separator: ",").contains { candidate in
            let candidate = candidate.drop { $0 == " " }.prefix { $0 != " " }
            return candidate == "*" || candidate == entityTag || candidate == "W/\(entityTag)"
        }
    }
}

/// The part of a file that a request's `Range` selects (RFC 9110, 14): one range, or else the whole file.
enum ByteRange: Equatable {
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    init(_ headers: HTTPFields, entityTag: String?, size: Int64) {
        guard let field = headers[.range], field.hasPrefix("bytes="), !field.contains(","),
            headers[.ifRange] == nil || headers[.ifRange] == entityTag
        else {
            self = .whole
            return
        }
        let bounds = field.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard bounds.count == 2 else {
            self = .whole
            return
        }
        switch (Int64(bounds[0]), Int64(bounds[1])) {
        case (let first?, let last?) where first <= last: self = Self.part(first, last, size)
        case (let first?, nil) where bounds[1].isEmpty: self = Self.part(first, size - 1, size)
        case (nil, let count?) where bounds[0].isEmpty && count >= 0:
            self = count == 0 ? .unsatisfiable : Self.part(max(0, size - count), size - 1, size)
        default: self = .whole
        }
    }

    private static func part(_ first: Int64, _ last: Int64, _ size: Int64) -> ByteRange {
        first >= 0 && first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
    }
}
