public import HTTPTypes
import LinuxSystem
import PictureJobs
import Transport
public import UploadCore

/// How long a picture is shown without asking its server (RFC 9111, section 4.2), for a private cache.
public struct Freshness: Equatable, Sendable {
    /// The lifetime if the server specifies none.
    public static let standard = Duration.seconds(86_400)
    /// The maximum lifetime.
    public static let longest = Duration.seconds(365 * 86_400)

    /// Lifetime from the reply's arrival on; zero: ask the server each time.
    public let lifetime: Duration

    /// Reads a reply's header: `max-age`, else `Expires` minus `Date`, else a day; minus `Age`.
    ///
    /// `Date` is only compared with `Expires`, never with this machine's clock: that clock may be off by years, and
    /// then no picture would be fresh. `no-store` counts as `no-cache`, because a mirror has to store.
    public init(_ headers: HTTPFields) {
        var directives = CacheDirectives(headers[values: .cacheControl])
        if !headers.contains(.cacheControl), let pragma = HTTPField.Name("Pragma") {
            directives = CacheDirectives(headers[values: pragma])
        }
        let total: Duration
        if directives.forbidsReuse {
            total = .zero
        } else if let age = directives.maximumAge {
            total = .seconds(age)
        } else if let expires = headers.first(.expires) {
            total = Self.between(headers.first(.date), expires)
        } else {
            total = Self.standard
        }
        let age = headers.first(.age).flatMap(CacheDirectives.seconds) ?? 0
        lifetime = max(min(total, Self.longest) - .seconds(age), .zero)
    }

    /// The end of freshness for a reply received at this time.
    public func until(receivedAt time: WallTime) -> WallTime { time.advanced(by: lifetime) }

    /// An invalid date means "already expired" (section 5.3).
    private static func between(_ date: String?, _ expires: String) -> Duration {
        guard let end = HTTPDate.secondsSince1970(expires), let begin = date.flatMap(HTTPDate.secondsSince1970)
        else { return .zero }
        return .seconds(max(end - begin, 0))
    }
}

/// The directives of `Cache-Control` that matter to this cache (RFC 9111, section 5.2.2).
struct CacheDirectives: Equatable, Sendable {
    /// `no-cache` or `no-store`.
    private(set) var forbidsReuse = false
    /// Seconds of `max-age`; 0 if the value is invalid, which must count as stale (section 4.2.1).
    private(set) var maximumAge: Int64?

    init(_ values: [String]) {
        for directive in values.flatMap({ Self.split($0) }) {
            let parts = directive.split(separator: "=", maxSplits: 1)
            switch parts.first.map({ Self.trimmed($0).lowercased() }) {
            // With field names, the directive covers only these fields. Asking the server again is correct for them
            // too.
            case "no-cache", "no-store": forbidsReuse = true
            case "max-age":
                let text = parts.count == 2 ? Self.trimmed(parts[1]).filter { $0 != "\"" } : ""
                // If several values disagree, the shortest satisfies all.
                maximumAge = min(maximumAge ?? .max, Self.seconds(text) ?? 0)
            default: break
            }
        }
    }

    /// Whole seconds, not negative. Larger numbers are limited to 2³¹ − 1 (section 1.2.2).
    static func seconds(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return min(Int64(text) ?? .max, Int64(Int32.max))
    }

    /// Splits at commas outside quotes.
    private static func split(_ value: String) -> [Substring] {
        var isQuoted = false
        return value.split { character in
            if character == "\"" { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}

/// A picture in a style.
struct AvatarWish: Hashable {
    var address: AvatarAddress
    var style: PictureStyle
}

/// The time, and a way to wait.
public struct AvatarClock: Sendable {
    /// The current time of both clocks.
    public var now: @Sendable () -> Now
    /// Waits; throws if the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void

    /// Creates a clock.
    public init(now: @escaping @Sendable () -> Now, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        self.sleep = sleep
    }
}

extension AvatarClock {
    /// The system's clocks.
    public static let system = AvatarClock(
        now: {
            Now(
                monotonic: MonotonicTime(nanoseconds: bootTimeNanoseconds()),
                wall: WallTime(milliseconds: wallTimeMilliseconds()))
        },
        sleep: { try await Timers.sleep(for: $0) })
}
