import Text

/// An error while installing, removing or querying a service.
package enum ServiceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The request is invalid.
    case usage(String)
    /// The user lacks the rights.
    case notAllowed(String)
    /// A unit file can't express this path.
    case inexpressible(path: String, reason: String)
    /// The existing unit file was not written by `outbox`.
    case foreign(path: String)
    /// The service is not installed.
    case notInstalled(path: String)
    /// The file can't be written or removed.
    case cannotWrite(path: String, reason: String)
    /// The service manager is unreachable. All steps that don't need it were done.
    case unavailable(String)
    /// The service manager refused.
    case refused(command: String, reason: String)

    /// One line: what failed, why, and what to do.
    package var description: String {
        switch self {
        case .usage(let reason), .notAllowed(let reason), .unavailable(let reason): reason
        case .inexpressible(let path, let reason): "\(DisplayText.escaped(path)): \(reason)"
        case .foreign(let path):
            "\(path): was not written by `outbox service install`, so it stays as it is; move it away first"
        case .notInstalled(let path): "\(path): no such unit; `outbox service install` writes it"
        case .cannotWrite(let path, let reason): "cannot write \(path): \(reason)"
        case .refused(let command, let reason): "`\(command)` failed: \(reason)"
        }
    }
}
