import HTTPTypes
import Transport
import URLs
import UploadCore

extension RemoteFailure {
    /// Another system on the way answers in place of the server; a person can probably correct this.
    ///
    /// - Parameter what: the kind of answer, for the message.
    static func portal(_ endpoint: String, _ what: String, retryAfter: Duration? = nil) -> RemoteFailure {
        let message =
            "\(endpoint): \(what); is this a captive portal? Log in to the network, or correct remote.url"
        return .temporary(
            FileError(code: "captive_portal", message: message, retryable: true), retryAfter: retryAfter,
            outlook: .gateway)
    }

    /// A web page in place of the server's answer.
    static func webPage(_ endpoint: String) -> RemoteFailure {
        portal(endpoint, "a web page came instead of the server's answer")
    }

    /// The network wants a login (511, RFC 6585, section 6).
    static func loginRequired(_ endpoint: String, _ retryAfter: Duration?) -> RemoteFailure {
        portal(endpoint, "the network requires a login (511)", retryAfter: retryAfter)
    }

    /// No server of the protocol answers at `remote.url`, or a wrong one.
    static func wrongURL(_ message: String, retryAfter: Duration? = nil) -> RemoteFailure {
        .temporary(
            FileError(code: "wrong_url", message: message, retryable: true), retryAfter: retryAfter, outlook: .lasting)
    }

    /// A refusal from a proxy or another web server in place of the upload server. It concerns all files, or only this
    /// request, whose size or content a proxy does not let through.
    ///
    /// - Parameters:
    ///   - expected: the server that should have answered.
    ///   - length: the number of bytes that the request carried.
    static func foreign(
        _ endpoint: String, _ reply: HTTPReply, expected: String = "the upload server", length: UInt64,
        hidingToken: (String) -> String
    ) -> RemoteFailure {
        let line = WebPage.firstLine(of: reply).map { hidingToken($0).prefix(200) }
        let answer = "\(reply.status)" + (line.map { " \"\($0)\"" } ?? "")
        func failure(_ code: String, _ message: String) -> RemoteFailure {
            .temporary(
                FileError(code: code, message: "\(endpoint): \(message)", retryable: true),
                retryAfter: RetryAfter.duration(in: reply.headers), outlook: .lasting)
        }
        if reply.status == 413 || line?.lowercased().contains("too large") == true {
            return failure(
                "too_large_for_proxy",
                "a proxy refuses a request with \(length) bytes (\(answer)); raise its limit: client_max_body_size in nginx, "
                    + "LimitRequestBody in Apache")
        }
        let filter =
            [400, 403, 406].contains(reply.status)
            ? ", or if other files go through, allow this one in the proxy's filter (such as ModSecurity)" : ""
        return failure(
            "bad_reply",
            "another server answered \(answer), not \(expected); correct scheme, host, port and path in remote.url, "
                + "or check the proxy\(filter)")
    }

    /// The header field that describes fragments does not arrive: a proxy drops names with an underscore.
    static func headerDropped(_ message: String) -> RemoteFailure {
        .temporary(
            FileError(
                code: "header_dropped",
                message: message
                    + "; a proxy drops the header field file_block: in nginx set `underscores_in_headers on;`",
                retryable: true), outlook: .lasting)
    }

    /// A redirect, which is never followed: the token would go to any host named in the reply.
    static func redirected(_ endpoint: String, _ reply: HTTPReply, hidingToken: (String) -> String) -> RemoteFailure {
        // Omits the query, which may hold a portal's data about this machine.
        let place =
            reply.headers.first(.location).map { " to \(hidingToken(WebURL.withoutQuery($0)).prefix(200))" } ?? ""
        let message =
            "\(endpoint): the server redirects\(place) (\(reply.status)), and the agent never follows redirects; "
            + "log in to the network if this is its captive portal, otherwise correct remote.url"
        return .temporary(FileError(code: "redirected", message: message, retryable: true), outlook: .gateway)
    }

    /// Classifies the error of a request without a reply, for every protocol over HTTP.
    ///
    /// - Parameter hidingToken: removes the account's token from libcurl's message.
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

/// Detects and reads web pages sent in place of a protocol's answer.
enum WebPage {
    /// Whether a refusal of the credentials (401, 403) is a web page of a proxy, such as a filter that dislikes this
    /// request. A web server that wants a login says which (RFC 9110, section 11.6.1).
    static func refusesRequest(_ reply: HTTPReply) -> Bool {
        guard isBody(of: reply) else { return false }
        return reply.status == 403 || reply.status == 401 && !reply.headers.contains(.wwwAuthenticate)
    }

    /// Whether a reply's body is empty or only white space.
    static func isBlank(_ reply: HTTPReply) -> Bool { reply.body.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) } }

    /// Returns the first readable line of a body: the title or first text of an HTML page, or the first line of any
    /// other body.
    ///
    /// - Returns: nil if the body has no text.
    static func firstLine(of reply: HTTPReply) -> String? {
        let text = String(decoding: reply.body.prefix(longestHead), as: UTF8.self)
        return firstLine(isBody(of: reply) ? withoutTags(text) : text) ?? firstLine(text)
    }

    /// Maximum number of bytes searched for the first line.
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

    /// Whether a reply's body is a web page: by its type, or because it begins like HTML.
    static func isBody(of reply: HTTPReply) -> Bool {
        let type = reply.headers.first(.contentType)?.lowercased() ?? ""
        if type.hasPrefix("text/html") || type.hasPrefix("application/xhtml") { return true }
        let start = reply.body.lazy.drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
        return start.first == UInt8(ascii: "<")
    }
}
