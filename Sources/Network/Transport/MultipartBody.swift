/// A `multipart/form-data` body (RFC 7578), streamed part by part.
///
/// This type writes the framing itself instead of using libcurl's mime functions. The body then takes the same way as
/// every other body, straight from its source into libcurl's buffer, and its length is known before the first read.
///
/// `@unchecked`: passed to the transport's thread with its request, and used by no other thread afterwards.
final class MultipartBody: BodySource, @unchecked Sendable {
    let length: UInt64
    /// The value of `Content-Type`.
    let contentType: String

    private let segments: [any BodySource]
    private var current = 0
    private var deliveredOfCurrent: UInt64 = 0

    /// - Parameter boundary: 1 to 70 characters allowed by RFC 2046, contained in no part.
    init(_ parts: [MultipartPart], boundary: String = MultipartBody.randomBoundary()) {
        var segments: [any BodySource] = []
        var separator = "--\(boundary)\r\n"
        for part in parts {
            segments.append(BytesBody(Array((separator + Self.header(of: part)).utf8)))
            segments.append(part.source)
            separator = "\r\n--\(boundary)\r\n"
        }
        let end = parts.isEmpty ? "--\(boundary)--\r\n" : "\r\n--\(boundary)--\r\n"
        segments.append(BytesBody(Array(end.utf8)))
        self.segments = segments
        length = segments.reduce(0) { $0 + $1.length }
        contentType = "multipart/form-data; boundary=\(boundary)"
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var filled = 0
        while filled < buffer.count, current < segments.count {
            let segment = segments[current]
            let left = segment.length - deliveredOfCurrent
            if left == 0 {
                current += 1
                deliveredOfCurrent = 0
                continue
            }
            let end = filled + Int(min(left, UInt64(buffer.count - filled)))
            let count = try segment.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<end]))
            if count == 0 {
                throw BodyTooShort(promised: segment.length, delivered: deliveredOfCurrent)
            }
            filled += count
            deliveredOfCurrent += UInt64(count)
        }
        return filled
    }

    func rewind() throws {
        for segment in segments.prefix(current + 1) { try segment.rewind() }
        current = 0
        deliveredOfCurrent = 0
    }

    /// Returns a boundary with 128 random bits: nobody can prepare a file that contains an unpredictable
    /// boundary. Each random number is a system call.
    static func randomBoundary() -> String {
        let numbers = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        return "outbox-\(String(numbers.0, radix: 32))-\(String(numbers.1, radix: 32))"
    }

    private static func header(of part: MultipartPart) -> String {
        var header = "Content-Disposition: form-data; name=\"\(escaped(part.name))\""
        if let fileName = part.fileName { header += "; filename=\"\(escaped(fileName))\"" }
        if let contentType = part.contentType { header += "\r\nContent-Type: \(contentType)" }
        return header + "\r\n\r\n"
    }

    /// Escapes per the HTML standard's "multipart form data", section 4.10.21.8: quotes and line ends
    /// percent-encoded.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "%22"
            case "\r": result += "%0D"
            case "\n": result += "%0A"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
