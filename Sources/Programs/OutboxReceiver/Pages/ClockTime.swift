import Glibc

/// Formats a time of the server for people, in the server's time zone.
enum ClockTime {
    /// Returns a `time` element such as `23 Nov 2026, 14:03`.
    /// - Parameter seconds: Since 1970.
    static func html(_ seconds: Int64) -> String {
        var seconds = time_t(seconds)
        var (local, universal) = (tm(), tm())
        localtime_r(&seconds, &local)
        gmtime_r(&seconds, &universal)
        let machine = text(&universal, "%Y-%m-%dT%H:%M:%SZ")
        return "<time datetime=\"\(machine)\">\(text(&local, "%-d %b %Y, %H:%M"))</time>"
    }

    private static func text(_ time: inout tm, _ format: String) -> String {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, format, &time)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
