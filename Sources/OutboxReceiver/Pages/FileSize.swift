/// A number of bytes for people.
enum FileSize {
    /// `312 bytes`, `4.8 MB`: decimal units, one digit behind the point where it says something.
    static func text(_ bytes: Int64) -> String {
        guard bytes >= 1000 else { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
        var tenths = bytes / 100
        for unit in ["kB", "MB", "GB"] {
            // What would be rounded to 1000.0 is 1 of the next unit.
            if tenths < 9_995 {
                return tenths < 100 ? "\(tenths / 10).\(tenths % 10) \(unit)" : "\((tenths + 5) / 10) \(unit)"
            }
            tenths = max(tenths / 1000, 10)
        }
        return "\(tenths / 10).\(tenths % 10) TB"
    }
}
