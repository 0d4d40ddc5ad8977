import HTTPTypes
import Hummingbird
import NIOCore

/// The frame of all pages: one document with its style sheet, and without a script.
enum HTMLPage {
    /// - Parameters:
    ///   - title: Escaped text.
    ///   - body: The elements in `body`.
    static func text(title: String, style: String, body: String) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="robots" content="noindex, nofollow">
        <title>\(title)</title>
        <style>\(style)</style>
        </head>
        <body>
        \(body)
        </body>
        </html>

        """
    }

    /// The header fields of a page at the server's own address. The policy allows the style sheet, pictures of this
    /// server and its own forms.
    ///
    /// The referrer policy is `same-origin` because browsers send `Origin: null` with the forms of a page without
    /// referrer (https://fetch.spec.whatwg.org/#append-a-request-origin-header).
    static func home(_ html: String, status: HTTPResponse.Status = .ok) -> Response {
        var headers: HTTPFields = [
            .contentType: "text/html; charset=utf-8",
            .cacheControl: "private, no-store",
            .contentSecurityPolicy: """
            default-src 'none'; img-src 'self'; style-src 'sha256-\(PageStyle.home.digest)'; base-uri 'none'; \
            form-action 'self'; frame-ancestors 'none'
            """,
            .xContentTypeOptions: "nosniff",
        ]
        headers.keepSecret()
        if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "same-origin" }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }
}

/// Escapes text for HTML, between tags and in quoted attributes.
enum HTMLText {
    static func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy(isPlain) { return text }
        var escaped: [UInt8] = []
        escaped.reserveCapacity(text.utf8.count * 2)
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "&"): escaped.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): escaped.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): escaped.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): escaped.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): escaped.append(contentsOf: "&#39;".utf8)
            case UInt8(ascii: "\n"), UInt8(ascii: "\t"): escaped.append(UInt8(ascii: " "))
            // HTML allows no control characters, not even as references.
            case 0..<0x20, 0x7f: escaped.append(contentsOf: "\u{fffd}".utf8)
            case 0xc2 where rest.first.map { $0 < 0xa0 } ?? false:
                rest.removeFirst()
                escaped.append(contentsOf: "\u{fffd}".utf8)
            default: escaped.append(byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// Whether a byte stands for itself. The control characters from 0x80 on begin with 0xc2 (RFC 3629).
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7f && byte != 0xc2 && !"&<>\"'".utf8.contains(byte)
    }
}
