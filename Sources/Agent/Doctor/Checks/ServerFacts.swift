/// The server's answer to a harmless question of the fileSection protocol.
struct ServerFacts: Equatable, Sendable {
    /// An HTTP answer.
    struct Answer: Equatable, Sendable {
        var status: Int
        /// Whether the body is an object with `code` or `data`, as the protocol specifies.
        var isEnvelope: Bool
        /// `code` of the body.
        var code: Int?
        /// `message` of the body.
        var message: String?
        /// `Location` of a redirect.
        var location: String?
        var isHTML: Bool
        var milliseconds: Int64
    }

    enum Outcome: Equatable, Sendable {
        case answered(Answer)
        /// The connection succeeded, but no usable answer came.
        case failed(String)
    }

    var url: String
    var outcome: Outcome
    var tokenSource: TokenFacts.Source?

    var findings: [Finding] {
        switch outcome {
        case .failed(let reason):
            [
                Finding(
                    .server, .stop, "\(url) gave no usable answer: \(reason)",
                    remedy: "check that remote.url is an outbox server, and see the server's log")
            ]
        case .answered(let answer): judge(answer)
        }
    }

    /// Judges the HTTP status first; for 2xx, the body's `code` (docs/protocol.md).
    private func judge(_ answer: Answer) -> [Finding] {
        switch answer.status {
        case 200...299 where answer.isEnvelope: judge(code: answer.code ?? 200, answer)
        case 200...299: [portal(answer)]
        default: judge(code: answer.status, answer)
        }
    }

    private func judge(code: Int, _ answer: Answer) -> [Finding] {
        let spoken = answer.isEnvelope ? [speaks(answer)] : []
        switch code {
        case 200...299: return spoken + [accepted("is accepted")]
        case 401, 403: return spoken + [refused(code, answer)]
        case 404, 405, 407, 408, 410, 425, 429: return [trouble(code, answer)]
        // The question names no id, so a server may call it a bad request. The server understood the question and
        // accepted the credentials.
        case 400...499 where answer.isEnvelope: return spoken + [accepted("was not refused")]
        default: return [trouble(code, answer)]
        }
    }

    private func trouble(_ code: Int, _ answer: Answer) -> Finding {
        let said = answer.said
        switch code {
        case 511: return portal(answer)
        case 300...399:
            let place = answer.location.map { " to \($0)" } ?? ""
            return stop(
                "answers with a redirect\(place), and the agent never follows redirects",
                "write the final address into remote.url, or sign in to the network")
        case 404, 405, 410:
            return stop(
                "has no fileSection interface there (\(code))",
                "correct the path in remote.url, the part before /fileSection/")
        case 407:
            return stop(
                "can't be reached: the proxy requires credentials (407)",
                "put them into the proxy variable: http://USER:PASSWORD@HOST:PORT")
        case 507: return stop("is full (507)\(said)", "free space on the server")
        case 408, 425, 429:
            let message = "\(url) is busy (\(code))\(said)"
            return Finding(.server, .warning, message, remedy: "the agent tries again by itself")
        case 500...599:
            return stop("has a problem (\(code))\(said)", "see the server's log; the agent tries again by itself")
        default:
            return stop(
                "answered \(code)\(said), which the protocol does not know",
                "check that remote.url is an outbox server")
        }
    }

    private func stop(_ what: String, _ remedy: String) -> Finding {
        Finding(.server, .stop, "\(url) \(what)", remedy: remedy)
    }

    private func speaks(_ answer: Answer) -> Finding {
        Finding(.server, .ok, "\(url) speaks fileSection, answered in \(answer.milliseconds) ms")
    }

    private func portal(_ answer: Answer) -> Finding {
        let what =
            answer.isHTML || answer.status == 511 ? "answered with a web page" : "did not answer in the protocol's JSON"
        return stop(
            "\(what): a captive portal, or not an outbox server",
            "sign in to the network with a browser, or check remote.url")
    }

    private func refused(_ code: Int, _ answer: Answer) -> Finding {
        guard let tokenSource else {
            return Finding(
                .credentials, .stop, "the server requires a token, but there is none (\(code))\(answer.said)",
                remedy: "run `outbox login`, or set remote.token_file or OUTBOX_TOKEN")
        }
        return Finding(
            .credentials, .stop, "the server refused the token from \(tokenSource.description) (\(code))\(answer.said)",
            remedy: "get a new token from the server's operator, and put it in the same place")
    }

    private func accepted(_ how: String) -> Finding {
        guard let tokenSource else { return Finding(.credentials, .ok, "none needed") }
        return Finding(.credentials, .ok, "the token from \(tokenSource.description) \(how)")
    }
}

extension ServerFacts.Answer {
    /// The server's message, if any.
    fileprivate var said: String { message.map { ": " + $0.prefix(200) } ?? "" }
}
