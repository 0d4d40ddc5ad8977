public import HTTPTypes
public import LinuxSystem

/// `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date.
public enum RetryAfter {
    /// The longest pause that is believed.
    static let longest = Duration.seconds(86400)
    /// The longest pause that is believed where only this machine's clock can tell how long it is: that may be wrong by
    /// days.
    static let longestByOwnClock = Duration.seconds(600)

    /// The pause a reply asks for.
    ///
    /// A date is taken relative to the reply's own `Date`, so that a clock that is off on either side does no harm.
    ///
    /// - Parameters:
    ///   - headers: the reply's.
    ///   - wallClock: seconds since 1970 by this machine's clock, asked only where the reply has no `Date`.
    /// - Returns: nil where there is none that can be understood.
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
