/// Why a request has no reply. Each case but the last two carries a sentence for people, mostly libcurl's own; none names
/// a header, a token or a body.
public enum TransportError: Error, Sendable, CustomStringConvertible {
    /// The host name, or the proxy's, has no address now.
    case resolve(String)
    /// No connection: refused, unreachable, or not within the connect timeout.
    case connect(String)
    /// The TLS handshake failed, or the server's certificate is not to be trusted.
    case tls(String)
    /// The connection broke before the reply was complete.
    case reset(String)
    /// While sending, no byte moved for the stall timeout.
    case stalled(String)
    /// Everything was sent and the reply was not there within the reply timeout.
    case replyTimeout(String)
    /// The reply's header or body is longer than allowed.
    case replyTooLong(String)
    /// What came back is not HTTP.
    case badReply(String)
    /// The task was cancelled, or the transport shut down.
    case cancelled
    /// Not an absolute `http` or `https` URL.
    case badURL(String)
    /// Method or header fields that cannot be sent; nothing was sent.
    case badRequest(String)
    /// The request may go to no address its host has (``TransportRequest/mayConnect``); nothing was sent.
    case refusedAddress(String)
    /// Anything else libcurl knows of.
    case other(String)
    /// The body could not be read or rewound; the server got no complete request.
    case body(any Error)
    /// The sink did not take the reply's body.
    case sink(any Error)

    /// What happened, in one line.
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
