import HTTPTypes

extension HTTPFields {
    /// For what is read by those who have its URL only: not by search engines
    /// (https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag), and not by the servers that links
    /// lead to (https://www.w3.org/TR/referrer-policy/).
    mutating func keepSecret() {
        for (name, value) in [("X-Robots-Tag", "noindex, nofollow"), ("Referrer-Policy", "no-referrer")] {
            if let name = HTTPField.Name(name) { self[name] = value }
        }
    }
}
