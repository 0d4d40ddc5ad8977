/// Why a service can't be installed, removed or asked.
public enum ServiceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The request makes no sense.
    case usage(String)
    /// It takes more rights.
    case notAllowed(String)
    /// A unit file can't name a path.
    case inexpressible(path: String, reason: String)
    /// A file of that name was not written here.
    case foreign(path: String)
    /// There is no such service.
    case notInstalled(path: String)
    /// A file can't be written or removed.
    case cannotWrite(path: String, reason: String)
    /// The service manager can't be asked; what could be done without it was done.
    case unavailable(String)
    /// The service manager refused.
    case refused(command: String, reason: String)

    /// What failed, why, and what to do, in one line.
    public var description: String {
        switch self {
        case .usage(let reason), .notAllowed(let reason), .unavailable(let reason): reason
        case .inexpressible(let path, let reason): "\(DisplayText.escaped(path)): \(reason)"
        case .foreign(let path):
            "\(path): was not written by `outbox service install` and is left as it is; move it away first"
        case .notInstalled(let path): "\(path): no such unit; `outbox service install` writes it"
        case .cannotWrite(let path, let reason): "cannot write \(path): \(reason)"
        case .refused(let command, let reason): "`\(command)` failed: \(reason)"
        }
    }
}
