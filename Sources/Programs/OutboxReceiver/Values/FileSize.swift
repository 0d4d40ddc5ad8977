/// Formats a number of bytes for people.
enum FileSize {
    /// Returns text such as `312 bytes` or `4.8 MB`: decimal units, with one decimal place below 10.
    static func text(_ bytes: Int64) -> String {
        guard bytes >= 1000 else { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
        var tenths = bytes / 100
        for unit in ["kB", "MB", "GB"] {
            // A value that rounds to 1000 becomes 1.0 of the next unit.
            if tenths < 9_995 {
                return tenths < 100 ? "\(tenths / 10).\(tenths % 10) \(unit)" : "\((tenths + 5) / 10) \(unit)"
            }
            tenths = max(tenths / 1000, 10)
        }
        return "\(tenths / 10).\(tenths % 10) TB"
    }
}
