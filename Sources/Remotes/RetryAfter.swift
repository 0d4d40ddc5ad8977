import LinuxSystem
import Transport

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
    static func duration(
        in headers: HTTPFields, wallClock: () -> Int64 = { wallTimeMilliseconds() / 1000 }
    ) -> Duration? {
        guard let value = headers["Retry-After"] else { return nil }
        if let seconds = Int64(value), seconds >= 0 { return min(.seconds(seconds), longest) }
        guard let until = secondsSince1970(value) else { return nil }
        if let sent = headers["Date"].flatMap(secondsSince1970) {
            return min(max(.seconds(until - sent), .zero), longest)
        }
        return min(max(.seconds(until - wallClock()), .zero), longestByOwnClock)
    }

    /// Reads an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
    ///
    /// - Returns: seconds since 1970; nil for anything else.
    public static func secondsSince1970(_ text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int64(parts[1]), (1...31).contains(day),
            let month = months.firstIndex(of: String(parts[2])), let year = Int64(parts[3]),
            (1970...9999).contains(year)
        else { return nil }
        let time = parts[4].split(separator: ":").compactMap { Int64($0) }
        guard time.count == 3, (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2])
        else { return nil }
        return (days(year: year, month: Int64(month) + 1, day: day) * 24 + time[0]) * 3600 + time[1] * 60 + time[2]
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Days since 1970-01-01 in the proleptic Gregorian calendar; years are counted from March, so that the leap day
    /// comes last.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
