/// The time of a file's last change, as other programs read it in the metadata of an upload.
enum ModificationTime {
    /// Returns a time in seconds since 1970. rclone reads decimals. reva (oCIS, OpenCloud) reads the digits after the dot as
    /// a number of nanoseconds, so there are always nine.
    static func text(_ milliseconds: Int64) -> String {
        var (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        if rest < 0 { (seconds, rest) = (seconds - 1, rest + 1000) }
        return "\(seconds).\("\(1000 + rest)".dropFirst())000000"
    }
}
