import Digests
import Foundation
import Remotes
import UploadCore

/// Verifies signatures as a strict server does, from the request alone. Shares no code with the signer except the digests.
struct SignatureCheck {
    var keys: AccessKeys
    var region: String
    /// The server's time, in seconds since 1970.
    var now: Int64

    /// Returns the code of S3's error; nil if the request is signed properly.
    func objection(to request: SeenRequest) -> String? {
        let headers = Dictionary(request.headers.map { ($0.key.lowercased(), $0.value) }) { $0 + "," + $1 }
        guard let parts = Self.parts(of: headers["authorization"] ?? "") else { return "AccessDenied" }
        let scope = parts.credential.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard scope.count == 5, scope[3] == "s3", scope[4] == "aws4_request" else {
            return "AuthorizationHeaderMalformed"
        }
        guard scope[0] == keys.id else { return "InvalidAccessKeyId" }
        guard headers["x-amz-security-token"] == keys.sessionToken else { return "InvalidToken" }
        guard scope[2] == region else { return "AuthorizationHeaderMalformed" }
        guard let stamp = headers["x-amz-date"], stamp.hasPrefix(scope[1]), let time = Self.seconds(stamp) else {
            return "AccessDenied"
        }
        guard abs(time - now) <= 900 else { return "RequestTimeTooSkewed" }
        guard let payload = headers["x-amz-content-sha256"] else { return "MissingContentSHA256" }
        let digest = SHA256Hasher.hash(request.body).hexadecimal
        guard payload == digest || payload == "UNSIGNED-PAYLOAD" && request.url.hasPrefix("https:") else {
            return "XAmzContentSHA256Mismatch"
        }
        let names = parts.signedHeaders.split(separator: ";").map(String.init)
        let mustSign = headers.keys.filter {
            $0.hasPrefix("x-amz-") || ["content-md5", "content-type", "host"].contains($0)
        }
        guard names == names.sorted(), Set(mustSign + ["host"]).isSubset(of: names) else { return "AccessDenied" }
        guard let canonical = Self.canonical(request, headers, names, payload) else { return "InvalidURI" }
        let text = [
            "AWS4-HMAC-SHA256", stamp, scope.dropFirst().joined(separator: "/"),
            SHA256Hasher.hash(Array(canonical.utf8)).hexadecimal,
        ].joined(separator: "\n")
        var key = Array("AWS4\(keys.secret)".utf8)
        for part in scope.dropFirst() { key = HMACSHA256.code(of: Array(part.utf8), key: key) }
        let signature = HMACSHA256.code(of: Array(text.utf8), key: key).hexadecimal
        return signature == parts.signature ? nil : "SignatureDoesNotMatch"
    }

    private static func parts(of field: String) -> (credential: String, signedHeaders: String, signature: String)? {
        let prefix = "AWS4-HMAC-SHA256 "
        guard field.hasPrefix(prefix) else { return nil }
        var values: [String: String] = [:]
        for part in field.dropFirst(prefix.count).components(separatedBy: ", ") {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2 { values[pair[0]] = pair[1] }
        }
        guard let credential = values["Credential"], let signed = values["SignedHeaders"],
            let signature = values["Signature"]
        else { return nil }
        return (credential, signed, signature)
    }

    private static func canonical(
        _ request: SeenRequest, _ headers: [String: String], _ names: [String], _ payload: String
    ) -> String? {
        guard let url = URLComponents(string: request.url), let host = url.host else { return nil }
        var headers = headers
        headers["host"] = url.port.map { "\(host):\($0)" } ?? host
        let query = (url.percentEncodedQuery ?? "").split(separator: "&").map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return encode(decode(halves[0])) + "=" + encode(decode(halves.count > 1 ? halves[1] : ""))
        }
        let path = url.percentEncodedPath.components(separatedBy: "/").map { encode(decode($0)) }.joined(separator: "/")
        let lines = names.map { "\($0):\((headers[$0] ?? "").trimmingCharacters(in: .whitespaces))\n" }.joined()
        return [
            request.method, path.isEmpty ? "/" : path, query.sorted().joined(separator: "&"), lines,
            names.joined(separator: ";"), payload,
        ].joined(separator: "\n")
    }

    private static func decode(_ text: String) -> String { text.removingPercentEncoding ?? text }

    private static func encode(_ text: String) -> String {
        let unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
        return text.addingPercentEncoding(withAllowedCharacters: CharacterSet(charactersIn: unreserved)) ?? text
    }

    private static func seconds(_ stamp: String) -> Int64? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "UTC")
        formatter.dateFormat = "yyyyMMdd'T'HHmmss'Z'"
        return formatter.date(from: stamp).map { Int64($0.timeIntervalSince1970) }
    }
}
