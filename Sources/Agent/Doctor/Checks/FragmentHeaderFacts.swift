/// Whether a whole fragment, and the header `file_block` that it needs, reach the server. By default, nginx takes at most
/// 1 MiB, and drops header names with an underscore.
///
/// The doctor sends a fragment of an upload that does not exist. A server that receives the header reports the missing
/// upload. A server that does not receive it reports the missing header. If the answer is ambiguous, the doctor sends
/// the same request without the header and compares.
struct FragmentHeaderFacts: Equatable, Sendable {
    /// The answer to a fragment of an unknown upload.
    var with: ServerFacts.Answer
    /// The answer to the same request without the header; nil if not sent.
    var without: ServerFacts.Answer?

    private enum Verdict {
        case arrives, isDropped, seemsDropped
        /// A proxy refuses so many bytes, or the request.
        case isTooLarge, isRefused
        /// Needs the answer to a request without the header.
        case isOpen
        /// Not decidable: the server has other problems, or accepts anything.
        case isUnknown
    }

    private var verdict: Verdict {
        if !with.isEnvelope, with.status == 413 { return .isTooLarge }
        if !with.isEnvelope, with.isHTML, [400, 403, 406].contains(with.status) { return .isRefused }
        let code = with.effectiveCode
        guard with.isEnvelope, (400..<500).contains(code), ![401, 403, 407, 408, 425, 429].contains(code) else {
            return .isUnknown
        }
        if with.message?.lowercased().contains("file_block") ?? false { return .isDropped }
        if code == 404 || code == 410 { return .arrives }
        guard let without else { return .isOpen }
        return without.effectiveCode == code && without.message == with.message ? .seemsDropped : .arrives
    }

    /// Whether the request without the header must be sent for comparison.
    var needsComparison: Bool { verdict == .isOpen }

    var findings: [Finding] {
        let remedy =
            "in nginx set `underscores_in_headers on;` for this server (/usr/share/doc/outbox/protocol.md), then reload it"
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
        case .isTooLarge:
            return [
                Finding(
                    .fragmentHeader, .stop, "a proxy refuses a whole fragment, which has 512 KiB (413)",
                    remedy:
                        "raise the proxy's limit to 1 MiB: client_max_body_size in nginx, LimitRequestBody in Apache")
            ]
        case .isRefused:
            return [
                Finding(
                    .fragmentHeader, .stop, "a proxy answers a fragment with a page (\(with.status))",
                    remedy: "allow /fileSection/upload.do in the proxy's filter, such as ModSecurity")
            ]
        case .isOpen, .isUnknown: return []
        }
    }
}

extension ServerFacts.Answer {
    /// The HTTP status; for 2xx, the body's `code`.
    fileprivate var effectiveCode: Int { (200...299).contains(status) ? code ?? 200 : status }
}
