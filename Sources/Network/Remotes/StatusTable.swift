import Transport
import UploadCore

/// The meaning of each HTTP status, for every protocol over HTTP. A protocol adds its exceptions.
///
/// Example: `StatusTable(exceptions: [409: .outOfStep, 423: .busyUpload])` for tus.
struct StatusTable: Sendable {
    /// What a status says.
    enum Meaning: Equatable, Sendable {
        /// The credentials are missing or refused.
        case signedOut
        /// The server does not know what the request is about.
        case unknown
        /// The server does not take this method here.
        case wrongMethod
        /// Another address.
        case redirect
        /// The network wants a login (RFC 6585, section 6).
        case loginRequired
        /// Too many requests at the moment.
        case busy
        /// No room.
        case full
        /// An intermediary answered in place of the server.
        case away
        /// The server is in trouble.
        case trouble
        /// No upload server gives this status.
        case odd
        /// Refused for good.
        case refused
        /// The server has another part of the upload than the request assumes. Only as an exception.
        case outOfStep
        /// The server can't work on this upload at the moment. Only as an exception.
        case busyUpload
    }

    /// The statuses that a protocol uses in its own way.
    var exceptions: [Int: Meaning] = [:]

    subscript(status: Int) -> Meaning { exceptions[status] ?? Self.meaning(of: status) }

    private static func meaning(of status: Int) -> Meaning {
        switch status {
        case 401, 403: .signedOut
        case 404, 410: .unknown
        case 405: .wrongMethod
        case 300...399: .redirect
        case 511: .loginRequired
        case 408, 425, 429: .busy
        case 507: .full
        case 502, 503, 504: .away
        case 407: .odd
        case 400...499, 501, 505: .refused
        case 500...599: .trouble
        default: .odd
        }
    }
}

extension StatusTable.Meaning {
    /// Returns the failure that the meaning alone decides; nil if it depends on the request.
    ///
    /// - Parameters:
    ///   - message: what failed, for people.
    ///   - retryAfter: the reply's `Retry-After`.
    func failure(_ message: String, retryAfter: Duration?) -> RemoteFailure? {
        func error(_ code: String, retryable: Bool = true) -> FileError {
            FileError(code: code, message: message, retryable: retryable)
        }
        func temporary(_ code: String, _ outlook: Outlook = .trouble) -> RemoteFailure {
            .temporary(error(code), retryAfter: retryAfter, outlook: outlook)
        }
        switch self {
        case .signedOut: return .signedOut(error("signed_out"))
        case .busy: return temporary("server_busy", .busy)
        case .full: return temporary("server_full", .lasting)
        case .away: return temporary("server_error", .gateway)
        case .trouble: return temporary("server_error")
        case .odd: return temporary("bad_reply")
        case .refused: return .permanent(error("refused", retryable: false))
        case .outOfStep: return .outOfStep(error("out_of_step"))
        case .busyUpload: return .busyUpload(error("server_busy"), retryAfter: retryAfter)
        case .unknown, .wrongMethod, .redirect, .loginRequired: return nil
        }
    }
}
