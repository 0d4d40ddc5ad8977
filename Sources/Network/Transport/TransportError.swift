/// Why a request has no reply. Each case but `cancelled`, `body` and `sink` carries a sentence for the user, mostly
/// libcurl's own; no sentence contains a header, a token or a body.
public enum TransportError: Error, Sendable, CustomStringConvertible {
    /// The host name, or the proxy's, has no address now.
    case resolve(String)
    /// No connection: refused, unreachable, or not within the connect timeout.
    case connect(String)
    /// The TLS handshake failed, or the server's certificate is not trusted.
    case tls(String)
    /// The connection broke before the reply was complete.
    case reset(String)
    /// While sending, no byte moved for the stall timeout.
    case stalled(String)
    /// The whole request was sent, but the reply was incomplete at the end of the reply timeout.
    case replyTimeout(String)
    /// The reply's header or body is longer than allowed.
    case replyTooLong(String)
    /// The reply is not HTTP.
    case badReply(String)
    /// The task was cancelled, or the transport shut down.
    case cancelled
    /// Not an absolute `http` or `https` URL.
    case badURL(String)
    /// The method or the header fields are invalid; no byte was sent.
    case badRequest(String)
    /// ``TransportRequest/mayConnect`` refused every address of the host; no byte was sent.
    case refusedAddress(String)
    /// Any other libcurl error.
    case other(String)
    /// The body could not be read or rewound; the server received no complete request.
    case body(any Error)
    /// The sink failed to take the reply's body.
    case sink(any Error)

    /// The failure, on one line.
    public var description: String {
        switch self {
        case .resolve(let message), .connect(let message), .tls(let message), .reset(let message),
            .stalled(let message), .replyTimeout(let message), .replyTooLong(let message), .badReply(let message),
            .badURL(let message), .badRequest(let message), .refusedAddress(let message), .other(let message):
            message
        case .cancelled: "cancelled"
        case .body(let error): "the body cannot be sent: \(error)"
        case .sink(let error): "the reply cannot be stored: \(error)"
        }
    }
}
