/// Why a picture could not be had, as far as it matters for when to ask again.
public enum AvatarFault: Equatable, Sendable {
    /// The server has no such picture, or does not give it away: 404, 410 and the other 4xx that stay.
    case status(Int)
    /// What came is none of the formats that are taken, or can't be decoded.
    case notAPicture
    /// More bytes than allowed.
    case tooLarge
    /// More pixels than allowed.
    case tooManyPixels
    /// The picture worker died or hung over it.
    case killedWorker
    /// More redirects than allowed, or to what is neither http nor https.
    case badRedirect
    /// The server can't answer now: 408, 425, 429 and 5xx; with the pause it asked for.
    case serverBusy(retryAfter: Duration?)
    /// Nothing the URL could help: offline, no such host, a time-out, a refused address, no worker, cancelled.
    case notItsFault

    /// The fault of a reply that is neither 2xx nor 304.
    ///
    /// - Parameters:
    ///   - status: its status.
    ///   - retryAfter: its `Retry-After`.
    public init(status: Int, retryAfter: Duration?) {
        switch status {
        case 408, 425, 429, 500...: self = .serverBusy(retryAfter: retryAfter)
        case 400..<500: self = .status(status)
        // A redirect without a place to go, or a reply nobody asked for.
        default: self = .badRedirect
        }
    }

    /// A short word for programs (docs/avatars.md).
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
