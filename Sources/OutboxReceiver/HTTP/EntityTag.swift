/// What `ETag` and `If-None-Match` are about.
enum EntityTag {
    /// A strong one for what is made anew each time.
    static func of(_ text: String) -> String {
        "\"\(RunningMD5.hash(text))\""
    }

    /// If-None-Match compares weakly (RFC 9110, 13.1.2).
    static func matches(_ field: String, _ entityTag: String?) -> Bool {
        guard let entityTag else { return false }
        return field.split(separator: ",").contains { candidate in
            let candidate = candidate.drop { $0 == " " }.prefix { $0 != " " }
            return candidate == "*" || candidate == entityTag || candidate == "W/\(entityTag)"
        }
    }
}
