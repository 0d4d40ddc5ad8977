import Glibc

/// A time from a client: seconds (or milliseconds) since 1970, `2026-11-21T09:30:00.123Z`, or `2026-11-21 09:30:00`
/// (UTC).
struct LenientTime: Equatable {
    /// Nil if the time is out of range. Some file systems report such times, and the server accepts the file anyway.
    let seconds: Int64?

    /// In bytes.
    private static let longest = 64

    /// Returns nil if the value is no time at all.
    init?(_ json: JSON) {
        if let text = json.string, text.utf8.count > Self.longest { return nil }
        if let number = json.double ?? json.string.flatMap({ Double($0) }), number.isFinite {
            seconds = Self.seconds(number)
        } else if let time = json.string.flatMap(Self.seconds) {
            seconds = time
        } else {
            return nil
        }
    }

    private static func seconds(_ number: Double) -> Int64? {
        guard abs(number) < 1e15 else { return nil }
        // Seconds reach this number in the year 5138; milliseconds reached it in 1973.
        return Int64(abs(number) > 1e11 ? number / 1000 : number)
    }

    private static func seconds(_ text: String) -> Int64? {
        let numbers = text.split { !$0.isASCII || !$0.isNumber }.prefix(6).compactMap { Int32($0) }
        guard numbers.count == 6, numbers[0] >= 1900, (1...12).contains(numbers[1]) else { return nil }
        var time = tm()
        (time.tm_year, time.tm_mon, time.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        (time.tm_hour, time.tm_min, time.tm_sec) = (numbers[3], numbers[4], numbers[5])
        let offset = zoneOffset(text) ?? 0
        return Int64(timegm(&time)) - offset
    }

    /// Returns the seconds east of Greenwich from a suffix like `+02:00`.
    private static func zoneOffset(_ text: String) -> Int64? {
        let zone = text.suffix(6)
        guard zone.count == 6, text.count > 19, let sign = zone.first, sign == "+" || sign == "-",
            let hours = Int64(zone.dropFirst().prefix(2)), let minutes = Int64(zone.suffix(2))
        else { return nil }
        return (hours * 60 + minutes) * (sign == "-" ? -60 : 60)
    }
}
