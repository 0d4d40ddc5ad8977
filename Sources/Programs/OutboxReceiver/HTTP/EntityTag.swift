/// Entity tags for `ETag` and `If-None-Match`.
enum EntityTag {
    /// Returns a strong entity tag for a document that is generated for each request.
    static func of(_ text: String) -> String {
        "\"\(RunningMD5.hash(text))\""
    }

    /// Compares weakly, as If-None-Match requires (RFC 9110, 13.1.2).
    static func matches(_ field: String, _ entityTag: String?) -> Bool {
        guard let entityTag else { return false }
        return field.split(separator: ",").contains { candidate in
            let candidate = candidate.drop { $0 == " " }.prefix { $0 != " " }
            return candidate == "*" || candidate == entityTag || candidate == "W/\(entityTag)"
        }
    }
}
