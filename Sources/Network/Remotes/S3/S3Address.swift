import URLs

/// The address of a bucket.
struct S3Address: Equatable, Sendable {
    /// The bucket's URL without a trailing slash.
    let base: String

    /// Combines the server's URL and the bucket's name. A certificate for `*.host` does not cover a name with dots, so
    /// such a bucket goes into the path of an https URL, except when the style asks for the host.
    ///
    /// Any endpoint but an absolute http or https URL gives an address that the transport refuses.
    ///
    /// - Parameter endpoint: the server's URL without a query. Its path is kept.
    init(endpoint: String, bucket: String, style: S3Options.PathStyle = .auto) {
        guard let url = WebURL(endpoint) else {
            base = endpoint
            return
        }
        let host = url.authority.host.lowercased()
        let isAWS = host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn")
        let isInHost =
            switch style {
            case .auto: isAWS && !(url.isSecure && bucket.contains("."))
            case .path: false
            case .virtualHost: true
            }
        let port = url.authority.portNumber.map { ":\($0)" } ?? ""
        var path = url.path
        while path.last == "/" { path.removeLast() }
        let scheme = url.isSecure ? "https" : "http"
        // A URL of AWS may name the bucket already.
        let prefix = isInHost && !(isAWS && host.hasPrefix("\(bucket).s3")) ? "\(bucket)." : ""
        let suffix = isInHost ? "" : "/\(Self.encoded(bucket))"
        base = "\(scheme)://\(prefix)\(host)\(port)\(path)\(suffix)"
    }

    /// Returns the URL of an object or, without a key, of the bucket.
    ///
    /// - Parameter query: names and values, to be encoded.
    func url(of key: String? = nil, query: [(name: String, value: String)] = []) -> String {
        let path = key.map { Self.encodedPath(Array($0.utf8)) } ?? ""
        let pairs = query.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
        return "\(base)/\(path)" + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }

    /// Returns bytes as the path of a URL: encoded except for slashes.
    static func encodedPath(_ bytes: [UInt8]) -> String {
        String(decoding: PercentEncoding.escapingReserved(bytes, keepsSlashes: true), as: UTF8.self)
    }

    private static func encoded(_ text: String) -> String {
        String(decoding: PercentEncoding.escapingReserved(Array(text.utf8)), as: UTF8.self)
    }
}
