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

extension HTTPFields {
    /// Returns the value of the first field with a name; nil if there is none.
    ///
    /// `HTTPFields` itself joins fields of one name into a list, but repeated `Location` or `Date` fields form no
    /// list.
    public func first(_ name: HTTPField.Name) -> String? { self[fields: name].first?.value }

    /// Adds a field with a name or value from outside.
    ///
    /// - Throws: ``TransportError/badRequest(_:)`` if the name is no token, or if the value holds a control character
    ///   or begins or ends with white space. `HTTPField` would replace illegal characters and so change the value.
    ///   The error's message never quotes the value.
    public mutating func add(_ name: String, _ value: String) throws(TransportError) {
        guard let name = HTTPField.Name(name) else { throw .badRequest("a header field's name is not an HTTP token") }
        guard HTTPField.isValidValue(value) else {
            throw .badRequest("the value of the header field \(name) holds what no header field may")
        }
        append(HTTPField(name: name, value: value))
    }
}

/// Dates in HTTP's format (RFC 9110, section 5.6.7).
public enum HTTPDate {
    /// Parses an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// - Returns: seconds since 1970; nil for any other format.
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

    /// Returns the days since 1970-01-01 in the proleptic Gregorian calendar. Years are counted from March, so that
    /// the leap day comes last.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
