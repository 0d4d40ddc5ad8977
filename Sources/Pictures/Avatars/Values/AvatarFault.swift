/// The cause of a failed fetch, as far as it decides when to retry.
public enum AvatarFault: Equatable, Sendable {
    /// The server has no such picture or refuses it: 404, 410 and other permanent 4xx.
    case status(Int)
    /// The body is no supported picture format, or can't be decoded.
    case notAPicture
    /// More bytes than allowed.
    case tooLarge
    /// More pixels than allowed.
    case tooManyPixels
    /// The picture worker died or hung while processing the picture.
    case killedWorker
    /// Too many redirects, or a redirect to a URL that is neither http nor https.
    case badRedirect
    /// The server is temporarily unable to answer: 408, 425, 429 and 5xx; with the pause it requested.
    case serverBusy(retryAfter: Duration?)
    /// Not the URL's fault: offline, unknown host, timeout, refused address, no worker, cancelled.
    case notItsFault

    /// The fault of a reply that is neither 2xx nor 304.
    ///
    /// - Parameters:
    ///   - status: Status of the reply.
    ///   - retryAfter: `Retry-After` of the reply.
    public init(status: Int, retryAfter: Duration?) {
        switch status {
        case 408, 425, 429, 500...: self = .serverBusy(retryAfter: retryAfter)
        case 400..<500: self = .status(status)
        // A redirect without a target, or an unexpected reply.
        default: self = .badRedirect
        }
    }

    /// A short word for programs (docs/faces.md).
    public var code: String {
        switch self {
        case .status(404): "not_found"
        case .status(410): "gone"
        case .status: "refused"
        case .notAPicture: "not_a_picture"
        case .tooLarge: "too_large"
        case .tooManyPixels: "too_many_pixels"
        case .killedWorker: "killed_worker"
        case .badRedirect: "bad_redirect"
        case .serverBusy: "server_busy"
        case .notItsFault: "unreachable"
        }
    }
}
