import HTTPTypes
import NIOCore

/// Extracts the parts of a `multipart/form-data` body (RFC 7578, RFC 2046) while the body arrives.
///
/// The parser is strict: exactly as many parts as expected, all with the expected name and lengths, closed by the final
/// boundary. If the lengths are known, the parser does not search the payload; the boundary right behind a payload proves
/// its length. If the length is unknown, there is one part, and the payload ends at the first boundary.
struct SectionParser {
    /// The number of bytes by which a body may exceed its payloads.
    static let room = 32 * 1024
    /// The most bytes for the preamble and the part's header fields. A search for their end begins anew with each piece.
    private static let longestHead = 4 * 1024
    /// How many bytes to search for the end of the head at a time. Most heads are shorter, and a search copies the bytes.
    private static let headStep = 1024
    /// The most bytes accepted behind the final boundary.
    private static let longestEpilogue = 1024

    private enum State {
        case head(ByteBuffer)
        case payload(missing: Int)
        /// The length is unknown. `held` may contain the beginning of the boundary.
        case search(held: ByteBuffer)
        case end(ByteBuffer)
        case done(epilogue: Int)
    }

    private let delimiter: [UInt8]
    private let name: String
    /// The lengths of the parts in bytes; nil for one part of any length.
    private let lengths: [Int]?
    /// The index of the current part, which lasts until the next boundary.
    private var part = 0
    private var state = State.head(ByteBuffer())

    /// - Parameters:
    ///   - contentType: The request's `Content-Type`.
    ///   - name: The required name of each part.
    ///   - lengths: The required lengths of the payloads in bytes; nil for one part of any length.
    init(contentType: String?, name: String, lengths: [Int]?) throws(Refusal) {
        guard let contentType, let boundary = MultipartBoundary(contentType: contentType) else {
            throw .badRequest("The body must be multipart/form-data with a boundary of 1 to 70 characters.")
        }
        delimiter = Array("\r\n--\(boundary.text)".utf8)
        self.name = name
        self.lengths = lengths
    }

    /// Parses the next bytes of the body, and passes those of payloads to `take` with the index of their part.
    mutating func parse(_ chunk: ByteBuffer, _ take: (Int, ByteBuffer) throws -> Void) throws {
        var chunk = chunk
        while chunk.readableBytes > 0 {
            switch state {
            case .head(var head):
                state = .done(epilogue: 0)
                try takeHead(&head, &chunk)
            case .payload(let missing):
                let count = min(missing, chunk.readableBytes)
                if let payload = chunk.readSlice(length: count) { try take(part, payload) }
                state = missing == count ? .end(ByteBuffer()) : .payload(missing: missing - count)
            case .search(var held):
                if let payload = search(&held, &chunk) { try take(part, payload) }
            case .end(var end):
                state = .done(epilogue: 0)
                try takeEnd(&end, &chunk)
            case .done(let epilogue):
                let epilogue = epilogue + chunk.readableBytes
                guard epilogue <= Self.longestEpilogue else {
                    throw Refusal.badRequest("Too many bytes follow the last boundary.")
                }
                state = .done(epilogue: epilogue)
                return
            }
        }
    }

    /// Parses the next bytes of a body with one part, and returns those of its payload.
    mutating func payload(in chunk: ByteBuffer) throws -> ByteBuffer? {
        var payload: ByteBuffer?
        try parse(chunk) { payload = $1 }
        return payload
    }

    /// Throws if the body is incomplete.
    func finish() throws(Refusal) {
        guard case .done = state else { throw .badRequest("The body ended before its last boundary.") }
    }

    // MARK: Head

    private mutating func takeHead(_ head: inout ByteBuffer, _ chunk: inout ByteBuffer) throws(Refusal) {
        // Prepend a line break, so that the search also finds a boundary at the very beginning.
        if head.writerIndex == 0 { head.writeBytes([13, 10]) }
        let before = head.readableBytes
        let room = Self.longestHead - before
        let length = min(room, Self.headStep, chunk.readableBytes)
        guard let piece = chunk.getSlice(at: chunk.readerIndex, length: length), room > 0 else {
            throw Refusal(
                status: .init(code: 431, reasonPhrase: "Request Header Fields Too Large"),
                message: "The part's header fields are too long.")
        }
        head.writeImmutableBuffer(piece)
        let bytes = head.readableBytesView
        guard let line = bytes.firstRange(of: delimiter),
            let end = bytes[line.upperBound...].firstRange(of: [13, 10, 13, 10])
        else {
            chunk.moveReaderIndex(forwardBy: piece.readableBytes)
            state = .head(head)
            return
        }
        try check(fields: Array(bytes[line.upperBound..<end.upperBound]))
        let used = bytes.distance(from: bytes.startIndex, to: end.upperBound) - before
        chunk.moveReaderIndex(forwardBy: used)
        state =
            lengths.map { $0[part] == 0 ? .end(ByteBuffer()) : .payload(missing: $0[part]) }
            ?? .search(held: ByteBuffer())
    }

    // MARK: Payload

    /// Returns the bytes before the boundary, or all bytes that cannot belong to a boundary. Leaves the bytes behind
    /// the boundary in `chunk`.
    private mutating func search(_ held: inout ByteBuffer, _ chunk: inout ByteBuffer) -> ByteBuffer? {
        held.writeBuffer(&chunk)
        if let boundary = held.readableBytesView.firstRange(of: delimiter) {
            let payload = held.readSlice(length: boundary.lowerBound - held.readerIndex)
            chunk = held
            state = .end(ByteBuffer())
            return payload
        }
        let payload = held.readSlice(length: max(0, held.readableBytes - delimiter.count + 1))
        state = .search(held: held)
        return payload
    }

    /// Checks the part's header fields. `fields` begins behind the boundary and ends with the empty line.
    private func check(fields: [UInt8]) throws(Refusal) {
        var lines: [ArraySlice<UInt8>] = []
        var rest = fields[...]
        while let end = rest.firstRange(of: [13, 10]) {
            lines.append(rest[..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
        guard let first = lines.first, first.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else {
            throw .badRequest("A boundary is malformed, or the body has too few parts.")
        }
        let title = "content-disposition:"
        let dispositions = lines.filter {
            String(decoding: $0.prefix(title.utf8.count), as: UTF8.self).lowercased() == title
        }
        guard dispositions.count == 1,
            let parameters = HeaderParameters(
                String(decoding: dispositions[0].dropFirst(title.utf8.count), as: UTF8.self)),
            parameters.value == "form-data", parameters["name"] == name
        else {
            throw .badRequest("Each part of the body must be named \(name).")
        }
    }

    // MARK: End

    private mutating func takeEnd(_ end: inout ByteBuffer, _ chunk: inout ByteBuffer) throws(Refusal) {
        let isLast = part + 1 >= lengths?.count ?? 1
        let wanted = isLast ? delimiter + [UInt8(ascii: "-"), UInt8(ascii: "-")] : delimiter
        if var piece = chunk.readSlice(length: min(chunk.readableBytes, wanted.count - end.readableBytes)) {
            end.writeBuffer(&piece)
        }
        guard wanted.starts(with: end.readableBytesView) else {
            throw .badRequest("A part has the wrong length, or another part follows the last one.")
        }
        guard end.readableBytes == wanted.count else {
            state = .end(end)
            return
        }
        if isLast {
            state = .done(epilogue: 0)
        } else {
            part += 1
            state = .head(end)
        }
    }
}

extension Sequence<UInt8> where Self: RandomAccessCollection {
    /// Returns the first occurrence of `pattern`, or nil.
    func firstRange(of pattern: [UInt8]) -> Range<Index>? {
        var start = startIndex
        while let found = self[start...].firstIndex(of: pattern[0]) {
            let candidate = self[found...]
            if candidate.starts(with: pattern) { return found..<index(found, offsetBy: pattern.count) }
            start = index(after: found)
        }
        return nil
    }
}
