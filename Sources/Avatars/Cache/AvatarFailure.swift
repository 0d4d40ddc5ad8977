public import UploadCore

/// Why a picture can't be had.
public enum AvatarFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The URL is to blame, or its server asked for a pause; it is not asked again before `until`.
    case listed(AvatarFault, message: String, until: WallTime)
    /// Nobody is to be asked there: a private address, or a host that is not listed.
    case notAllowed(String)
    /// The network's or the server's fault; it may work at any moment.
    case unreachable(String)
    /// The picture is there, but nobody can draw it in this style.
    case noWorker(String)
    /// The mirror can't be read or written.
    case storage(String)
    /// The one who asked gave up, or the cache ended.
    case cancelled

    init(_ verdict: Blacklist.Verdict) {
        self = .listed(verdict.fault, message: verdict.message, until: verdict.until)
    }

    /// When the URL is asked again, where that was put off.
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

    /// What happened, in one line.
    public var description: String {
        switch self {
        case .listed(_, let message, _), .notAllowed(let message), .unreachable(let message), .noWorker(let message),
            .storage(let message):
            message
        case .cancelled: "cancelled"
        }
    }
}
