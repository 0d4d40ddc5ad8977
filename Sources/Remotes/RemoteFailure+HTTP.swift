import HTTPTypes
import Transport
import UploadCore

extension RemoteFailure {
    /// Something between here and the server answers in its place, and a person can probably mend it.
    ///
    /// - Parameter what: what was answered.
    static func portal(_ endpoint: String, _ what: String, retryAfter: Duration? = nil) -> RemoteFailure {
        let message =
            "\(endpoint): the answer is \(what); is it a captive portal? Log in to the network, or correct remote.url"
        return .temporary(
            FileError(code: "captive_portal", message: message, retryable: true), retryAfter: retryAfter, outlook: .away
        )
    }

    /// What a request that got no reply tells, for every protocol over HTTP.
    ///
    /// - Parameter hidingToken: takes the account's token out of what libcurl quotes.
    init(_ error: TransportError, endpoint: String, hidingToken: (String) -> String = { $0 }) {
        let message = "\(endpoint): \(hidingToken("\(error)"))"
        func temporary(_ code: String, _ outlook: Outlook = .away) -> RemoteFailure {
            .temporary(FileError(code: code, message: message, retryable: true), outlook: outlook)
        }
        self =
            switch error {
            case .resolve: temporary("dns")
            case .connect: temporary("no_connection")
            case .tls: temporary("tls", .trouble)
            case .reset: temporary("connection_lost")
            case .stalled: temporary("stalled")
            case .replyTimeout: temporary("reply_timeout")
            case .replyTooLong, .badReply: temporary("bad_reply", .trouble)
            case .badURL: temporary("wrong_url", .lasting)
            case .refusedAddress, .sink, .other: temporary("no_connection")
            case .cancelled: .cancelled
            case .badRequest:
                .permanent(FileError(code: "bad_request", message: message, retryable: false))
            case .body(let cause):
                if let problem = cause as? SourceProblem {
                    .source(problem)
                } else {
                    temporary("connection_lost", .trouble)
                }
            }
    }
}

/// A page made for people, where an answer of the protocol was expected.
enum WebPage {
    /// Whether a reply has no body, or one of white space alone.
    static func isBlank(_ reply: HTTPReply) -> Bool { reply.body.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) } }

    /// The first line of a body that a person would read: the title or first text of an HTML page, the first line of
    /// anything else.
    ///
    /// - Returns: nil where there is no text.
    static func firstLine(of reply: HTTPReply) -> String? {
        let text = String(decoding: reply.body.prefix(longestHead), as: UTF8.self)
        return firstLine(isBody(of: reply) ? withoutTags(text) : text) ?? firstLine(text)
    }

    /// How much of a page is looked through for its first line, in bytes.
    private static let longestHead = 16 << 10

    private static func firstLine(_ text: String) -> String? {
        let lines = text.split { $0.isNewline || $0 == "\0" }.lazy.map { line in
            line.split { $0.isWhitespace || $0.unicodeScalars.contains { $0.properties.generalCategory == .control } }
                .joined(separator: " ")
        }
        return lines.first { !$0.isEmpty && $0 != "\u{FEFF}" }
    }

    private static func withoutTags(_ text: String) -> String {
        var rest = text[...]
        var plain = ""
        while let start = rest.firstIndex(of: "<") {
            plain += rest[..<start]
            rest = rest[start...]
            guard let end = rest.firstIndex(of: ">") else { return plain }
            rest = rest[rest.index(after: end)...]
        }
        return plain + rest
    }

    /// Whether a reply's body is one: by its type, or because it begins as HTML does.
    static func isBody(of reply: HTTPReply) -> Bool {
        let type = reply.headers.first(.contentType)?.lowercased() ?? ""
        if type.hasPrefix("text/html") || type.hasPrefix("application/xhtml") { return true }
        let start = reply.body.lazy.drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
        return start.first == UInt8(ascii: "<")
    }
}
