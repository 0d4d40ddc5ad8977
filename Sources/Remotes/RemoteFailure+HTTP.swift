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
            FileError(code: "captive_portal", message: message, retryable: true), retryAfter: retryAfter)
    }

    /// What a request that got no reply tells, for every protocol over HTTP.
    init(_ error: TransportError, endpoint: String) {
        func temporary(_ code: String, slow: Bool = false) -> RemoteFailure {
            .temporary(FileError(code: code, message: "\(endpoint): \(error)", retryable: true), slow: slow)
        }
        self =
            switch error {
            case .resolve: temporary("dns")
            case .connect: temporary("no_connection")
            case .tls: temporary("tls")
            case .reset: temporary("connection_lost")
            case .stalled: temporary("stalled")
            case .replyTimeout: temporary("reply_timeout")
            case .replyTooLong, .badReply: temporary("bad_reply")
            case .badURL: temporary("wrong_url", slow: true)
            case .refusedAddress, .sink, .other: temporary("no_connection")
            case .cancelled: .cancelled
            case .badRequest:
                .permanent(FileError(code: "bad_request", message: "\(endpoint): \(error)", retryable: false))
            case .body(let cause):
                if let problem = cause as? SourceProblem { .source(problem) } else { temporary("connection_lost") }
            }
    }
}

/// A page made for people, where an answer of the protocol was expected.
enum WebPage {
    /// Whether a reply's body is one: by its type, or because it begins as HTML does.
    static func isBody(of reply: HTTPReply) -> Bool {
        let type = reply.headers["Content-Type"]?.lowercased() ?? ""
        if type.hasPrefix("text/html") || type.hasPrefix("application/xhtml") { return true }
        let start = reply.body.lazy.drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
        return start.first == UInt8(ascii: "<")
    }
}
