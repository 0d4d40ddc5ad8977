import HTTPTypes

extension HTTPFields {
    /// Protects a document that only holders of its URL may read. Keeps search engines
    /// (https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag) from indexing the document, and
    /// hides its URL from linked servers (https://www.w3.org/TR/referrer-policy/).
    mutating func keepSecret() {
        for (name, value) in [("X-Robots-Tag", "noindex, nofollow"), ("Referrer-Policy", "no-referrer")] {
            if let name = HTTPField.Name(name) { self[name] = value }
        }
    }
}
