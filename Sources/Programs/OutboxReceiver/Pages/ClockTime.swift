import Glibc

/// Formats a time of the server.
enum ClockTime {
    /// Returns a `time` element such as `23 Nov 2026, 14:03`.
    /// - Parameter seconds: Since 1970.
    static func html(_ seconds: Int64) -> String {
        "<time datetime=\"\(universal(seconds))\">\(local(seconds))</time>"
    }

    /// Returns the time for people, in the server's time zone: `23 Nov 2026, 14:03`.
    static func local(_ seconds: Int64) -> String {
        var seconds = time_t(seconds)
        var time = tm()
        localtime_r(&seconds, &time)
        return text(&time, "%-d %b %Y, %H:%M")
    }

    /// Returns the time for programs (RFC 3339): `2026-11-23T13:03:00Z`.
    static func universal(_ seconds: Int64) -> String {
        var seconds = time_t(seconds)
        var time = tm()
        gmtime_r(&seconds, &time)
        return text(&time, "%Y-%m-%dT%H:%M:%SZ")
    }

    private static func text(_ time: inout tm, _ format: String) -> String {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, format, &time)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
