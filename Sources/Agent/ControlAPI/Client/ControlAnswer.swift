import HTTPTypes

/// The agent's reply to a control request, read until the agent closed the connection (RFC 9112).
struct ControlAnswer: Equatable, Sendable {
    let status: Int
    let body: [UInt8]

    /// - Throws: `ControlError.failed` if `bytes` is no HTTP reply, `cutOff` if they are only the beginning of one.
    init(_ bytes: [UInt8]) throws(ControlError) {
        guard let end = bytes.firstRange(of: "\r\n\r\n".utf8) else { throw .failed(reason: "not an HTTP reply") }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        guard let words = lines.first?.split(separator: " "), words.count > 1, words[0].hasPrefix("HTTP/"),
            let status = Int(words[1])
        else { throw .failed(reason: "not an HTTP reply") }
        guard let body = Self.body(in: bytes[end.upperBound...], by: Self.fields(of: lines.dropFirst())) else {
            throw .cutOff
        }
        self.status = status
        self.body = body
    }

    private static func fields(of lines: some Sequence<Substring>) -> HTTPFields {
        HTTPFields(
            lines.compactMap { line in
                guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                    return nil
                }
                return HTTPField(name: name, value: String(line[line.index(after: colon)...]))
            })
    }

    /// Returns the body; `nil` if its end is missing. Without a length, the end of the connection ends the body.
    private static func body(in bytes: ArraySlice<UInt8>, by fields: HTTPFields) -> [UInt8]? {
        if fields[.transferEncoding]?.lowercased().hasSuffix("chunked") == true { return unchunked(bytes) }
        guard let length = fields[.contentLength] else { return Array(bytes) }
        return Int(length) == bytes.count ? Array(bytes) : nil
    }

    /// Decodes the chunked transfer coding (RFC 9112, section 7.1); `nil` if the last chunk is missing.
    private static func unchunked(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = bytes
        var body: [UInt8] = []
        while let lineEnd = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let size = rest[..<lineEnd].prefix { Character(Unicode.Scalar($0)).isHexDigit }
            guard let count = Int(String(decoding: size, as: UTF8.self), radix: 16) else { return nil }
            rest = rest[(lineEnd + 1)...]
            if count == 0 { return body }
            guard rest.count - 2 >= count else { return nil }
            body.append(contentsOf: rest.prefix(count))
            rest = rest.dropFirst(count + 2)
        }
        return nil
    }
}

/// Why the control interface gave no answer.
package enum ControlError: Error, Equatable, Sendable, CustomStringConvertible {
    /// No agent listens on the socket.
    case notRunning(socket: String)
    /// The user may not access the socket.
    case notAllowed(socket: String, reason: String)
    /// A program of another user listens on the socket. Nothing was sent.
    case notTrusted(socket: String, user: String)
    /// The agent refused the request; `code` is a short snake_case word (docs/http.md).
    case refused(code: String, reason: String)
    /// The agent closed the connection before its answer was complete: it is ending, or was killed.
    case cutOff
    /// The agent's answer can't be used.
    case failed(reason: String)

    /// What failed, and what to do next.
    package var description: String {
        switch self {
        case .notRunning(let socket): "the agent is not running (no answer on \(socket)); start it with `outbox run`"
        case .notAllowed(let socket, let reason):
            "the control socket \(socket) can't be used: \(reason); run this as the agent's user"
        case .notTrusted(let socket, let user):
            "a program of \(user) listens on the control socket \(socket), so nothing was sent to it; correct control.socket, "
                + "or run this as that user if it is their agent"
        case .refused(_, let reason): "the agent refused: \(reason)"
        case .cutOff: "the agent ended before it answered; start it with `outbox run` if it does not run"
        case .failed(let reason): "the agent gave no useful answer: \(reason)"
        }
    }
}
