import Digests
import URLs
import UploadCore

/// AWS Signature Version 4 in the `Authorization` header (AWS, "Signature Calculations for the Authorization Header").
///
/// Follows the rules of S3: each byte of a path is encoded once, and `.`, `..` and `//` in a path stay as they are.
struct SigV4: Sendable {
    /// The payload hash of a request whose body is not signed.
    static let unsignedPayload = "UNSIGNED-PAYLOAD"
    private static let algorithm = "AWS4-HMAC-SHA256"

    /// The region in the scope.
    let region: String
    /// The service in the scope.
    var service = "s3"

    /// A time in the formats of the protocol.
    struct Time: Equatable, Sendable {
        /// As in `20130524`.
        let day: String
        /// As in `20130524T000000Z`.
        let stamp: String

        init(_ time: WallTime) {
            let civil = CivilTime(time)
            day = Self.digits(of: civil.date)
            stamp = "\(day)T\(Self.digits(of: civil.clock))Z"
        }

        private static func digits(of text: String) -> String {
            String(decoding: text.utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ":") }, as: UTF8.self)
        }
    }

    /// A request as far as the signature covers it.
    struct Request: Sendable {
        var method: String
        var url: WebURL
        /// All header fields to sign except `Host`, which comes from the URL.
        var headers: [(name: String, value: String)]
        /// The hexadecimal SHA-256 of the body, or ``unsignedPayload``.
        var payload: String
    }

    /// Returns the value of the field `Authorization`.
    ///
    /// - Parameter key: see ``signingKey(secret:day:)``.
    func authorization(_ request: Request, at time: Time, accessKeyID: String, key: [UInt8]) -> String {
        let (canonical, signed) = Self.canonical(request)
        let scope = "\(time.day)/\(region)/\(service)/aws4_request"
        let digest = SHA256Hasher.hash(Array(canonical.utf8)).hexadecimal
        let text = "\(Self.algorithm)\n\(time.stamp)\n\(scope)\n\(digest)"
        let signature = HMACSHA256.code(of: Array(text.utf8), key: key).hexadecimal
        return "\(Self.algorithm) Credential=\(accessKeyID)/\(scope), SignedHeaders=\(signed), Signature=\(signature)"
    }

    /// Returns the key for the requests of one day.
    func signingKey(secret: String, day: String) -> [UInt8] {
        [day, region, service, "aws4_request"].reduce(Array("AWS4\(secret)".utf8)) { key, text in
            HMACSHA256.code(of: Array(text.utf8), key: key)
        }
    }

    /// Returns the canonical form of a request, and the names of the signed fields.
    static func canonical(_ request: Request) -> (text: String, signedHeaders: String) {
        let path = canonicalPath(request.url.path)
        var text = "\(request.method)\n\(path)\n\(canonicalQuery(request.url.query ?? ""))\n"
        var signed = ""
        for field in canonicalFields(of: request) {
            text += "\(field.name):\(field.value)\n"
            signed += signed.isEmpty ? field.name : ";\(field.name)"
        }
        text += "\n\(signed)\n\(request.payload)"
        return (text, signed)
    }

    /// Returns the value of `Host` as libcurl sends it: without the scheme's own port.
    static func host(of url: WebURL) -> String {
        let host = url.authority.host.lowercased()
        guard let port = url.authority.portNumber, port != (url.isSecure ? 443 : 80) else { return host }
        return "\(host):\(port)"
    }

    private static func canonicalFields(of request: Request) -> [(name: String, value: String)] {
        var values: [(name: String, value: String)] = [("host", host(of: request.url))]
        for (name, value) in request.headers {
            let name = name.lowercased()
            if let index = values.firstIndex(where: { $0.name == name }) {
                values[index].value += ",\(trimmed(value))"
            } else {
                values.append((name, trimmed(value)))
            }
        }
        // By name alone: in whole lines, "x-amz-meta-a:" would follow "x-amz-meta-a-b:".
        return values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// Returns the value of a field without blanks at both ends, and with one blank for several.
    private static func trimmed(_ value: String) -> String {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard value.utf8.contains(where: isBlank) else { return value }
        return value.utf8.split(whereSeparator: isBlank).map { String(Substring($0)) }.joined(separator: " ")
    }

    private static func canonicalPath(_ path: Substring) -> String {
        path.isEmpty ? "/" : S3Address.encodedPath(PercentEncoding.unescaped(path.utf8))
    }

    private static func canonicalQuery(_ query: Substring) -> String {
        let pairs = query.split(separator: "&").map { pair in
            let name = pair.prefix { $0 != "=" }
            return (name: encoded(name), value: encoded(pair.dropFirst(name.count + 1)))
        }
        let sorted = pairs.sorted { left, right in
            left.name == right.name
                ? left.value.utf8.lexicographicallyPrecedes(right.value.utf8)
                : left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
        }
        return sorted.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    private static func encoded(_ text: Substring) -> String {
        String(decoding: PercentEncoding.escapingReserved(PercentEncoding.unescaped(text.utf8)), as: UTF8.self)
    }
}
