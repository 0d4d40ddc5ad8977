public import HTTPTypes
public import LinuxSystem

/// `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date.
public enum RetryAfter {
    /// The longest accepted pause; longer ones are shortened.
    static let longest = Duration.seconds(86400)
    /// The longest accepted pause if only this machine's clock gives its length, since this clock may be wrong by
    /// days.
    static let longestByOwnClock = Duration.seconds(600)

    /// Returns the pause requested by a reply.
    ///
    /// A date counts relative to the reply's own `Date`, so that a wrong clock on either side does no harm.
    ///
    /// - Parameters:
    ///   - headers: the reply's fields.
    ///   - wallClock: returns seconds since 1970 by this machine's clock; called only if the reply has no `Date`.
    /// - Returns: nil if the field is missing or unreadable.
    public static func duration(
        in headers: HTTPFields, wallClock: () -> Int64 = { wallTimeMilliseconds() / 1000 }
    ) -> Duration? {
        guard let value = headers.first(.retryAfter) else { return nil }
        if let seconds = Int64(value), seconds >= 0 { return min(.seconds(seconds), longest) }
        guard let until = HTTPDate.secondsSince1970(value) else { return nil }
        if let sent = headers.first(.date).flatMap(HTTPDate.secondsSince1970) {
            return min(max(.seconds(until - sent), .zero), longest)
        }
        return min(max(.seconds(until - wallClock()), .zero), longestByOwnClock)
    }
}
