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
