/// Whether the header `file_block`, without which no fragment can be sent, reaches the server: nginx drops names with an
/// underscore unless it is told not to.
///
/// The server is sent a fragment of an upload that does not exist. A server that sees the header misses the upload; one
/// that does not see it misses the header. Where the answer leaves that open, the same request without the header tells.
struct FragmentHeaderFacts: Equatable, Sendable {
    /// The answer to a fragment of an unknown upload.
    var with: ServerFacts.Answer
    /// The answer to the same without the header; nil where it was not asked for.
    var without: ServerFacts.Answer?

    /// The id that is asked about. No server issues it.
    static let id = "outbox-doctor"

    private enum Verdict {
        case arrives, isDropped, seemsDropped
        /// Only the answer to a request without the header tells.
        case isOpen
        /// Nothing can be told: the server has other troubles, or takes anything.
        case isUnknown
    }

    private var verdict: Verdict {
        let code = with.effectiveCode
        guard with.isEnvelope, (400..<500).contains(code), ![401, 403, 407, 408, 425, 429].contains(code) else {
            return .isUnknown
        }
        if with.message?.lowercased().contains("file_block") ?? false { return .isDropped }
        if code == 404 || code == 410 { return .arrives }
        guard let without else { return .isOpen }
        return without.effectiveCode == code && without.message == with.message ? .seemsDropped : .arrives
    }

    /// Whether the answer to a request without the header is needed.
    var needsComparison: Bool { verdict == .isOpen }

    var findings: [Finding] {
        let remedy = "in nginx set `underscores_in_headers on;` for this server (docs/protocol.md), then reload it"
        switch verdict {
        case .arrives:
            return [Finding(.fragmentHeader, .ok, "the header file_block of fragments reaches the server")]
        case .isDropped:
            let message =
                "the header file_block of fragments does not reach the server: a proxy before it drops the header"
            return [Finding(.fragmentHeader, .stop, message, remedy: remedy)]
        case .seemsDropped:
            let message =
                "the server answers the same (\(with.effectiveCode)) with and without the header file_block of "
                + "fragments: a proxy before it may drop the header"
            return [Finding(.fragmentHeader, .warning, message, remedy: remedy)]
        case .isOpen, .isUnknown: return []
        }
    }
}

extension ServerFacts.Answer {
    /// The HTTP status, on 2xx the `code` of the body.
    fileprivate var effectiveCode: Int { (200...299).contains(status) ? code ?? 200 : status }
}
