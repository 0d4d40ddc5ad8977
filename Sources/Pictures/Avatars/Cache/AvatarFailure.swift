public import UploadCore

/// Why a picture is unavailable.
public enum AvatarFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The URL is at fault, or its server asked for a pause. No request before `until`.
    case listed(AvatarFault, message: String, until: WallTime)
    /// The address is not allowed: a private address, or a host that is not listed.
    case notAllowed(String)
    /// The network's or the server's fault; a retry may succeed at any time.
    case unreachable(String)
    /// The picture exists, but no worker can draw it in this style.
    case noWorker(String)
    /// The mirror is unreadable or not writable.
    case storage(String)
    /// The caller gave up, or the cache ended.
    case cancelled

    init(_ verdict: Blacklist.Verdict) {
        self = .listed(verdict.fault, message: verdict.message, until: verdict.until)
    }

    /// When the URL may be requested again, if requests are on hold.
    public var until: WallTime? {
        if case .listed(_, _, let until) = self { until } else { nil }
    }

    /// A short snake_case word.
    public var code: String {
        switch self {
        case .listed(let fault, _, _): fault.code
        case .notAllowed: "not_allowed"
        case .unreachable: "unreachable"
        case .noWorker: "no_worker"
        case .storage: "storage"
        case .cancelled: "cancelled"
        }
    }

    /// The failure in one line.
    public var description: String {
        switch self {
        case .listed(_, let message, _), .notAllowed(let message), .unreachable(let message), .noWorker(let message),
            .storage(let message):
            message
        case .cancelled: "cancelled"
        }
    }
}
