import HTTPTypes
import Hummingbird
import NIOCore

/// The page at the server's own address, which is also `remote.url` of every agent.
enum HomePage {
    static func response(to request: Request) -> Response {
        var headers: HTTPFields = [
            .contentType: "text/html; charset=utf-8",
            .cacheControl: "no-cache",
            .contentSecurityPolicy: """
            default-src 'none'; style-src 'sha256-\(PageStyle.digest)'; base-uri 'none'; form-action 'none'; \
            frame-ancestors 'none'; sandbox
            """,
            .xContentTypeOptions: "nosniff",
        ]
        headers.keepSecret()
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }

    /// The page names no version, user or file, because anybody may see the page.
    private static let html = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="robots" content="noindex, nofollow">
        <title>Outbox receiver</title>
        <style>\(PageStyle.text)</style>
        </head>
        <body>
        <header>
        <h1>Outbox receiver</h1>
        <p class="facts">This server takes pictures and videos from outbox agents. It is running.</p>
        </header>
        <main>
        <p>There is nothing to look at here: every file and every post has a secret link of its own. The agent that
        uploaded it knows the link: see <code>outbox status FILE</code>, or <code>remote.url</code> in the file's sidecar.</p>
        <p>To upload from a machine, put this page's address into <code>url</code> below <code>[remote]</code> in its
        <code>agent.toml</code>, then run <code>outbox doctor</code>.</p>
        </main>
        </body>
        </html>

        """
}
