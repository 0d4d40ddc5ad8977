/// Reasons why signing in or out failed.
package enum SessionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The input is not a bearer token.
    case notAToken(String)
    /// The input is not a user name.
    case notAUser(String)
    /// The token would travel over plain http to another machine (`remote.insecure_http`).
    case mayNotTravel
    /// The protocol uses access keys: there is nothing to sign in to.
    case keysOnly
    /// The stored session can't be written, read or removed.
    case inputOutput(path: String, reason: String)

    /// What failed, why, and what to do next, in one line.
    package var description: String {
        switch self {
        case .notAToken(let reason): "not a token: \(reason)"
        case .notAUser(let reason): "not a user name: \(reason)"
        case .mayNotTravel:
            "the token is not stored: the agent sends no token over plain http; use https:// in remote.url, or set "
                + "remote.insecure_http = true, and start the agent again"
        case .keysOnly:
            "remote.protocol = \"s3\" uses access keys, not a token: set remote.access_key_file and "
                + "remote.secret_key_file, or the environment's AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        case .inputOutput(let path, let reason): "cannot use \(path): \(reason)"
        }
    }
}
