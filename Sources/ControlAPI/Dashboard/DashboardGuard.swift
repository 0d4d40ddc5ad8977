import HTTPTypes
import Hummingbird
import NIOCore

/// Lets only the user's own requests through, and tells the browser to keep other pages out.
struct DashboardGuard: RouterMiddleware {
    let host: String
    let keys: DashboardKeys
    let seats: DashboardSeats

    func handle(
        _ request: Request, context: ControlContext,
        next: (Request, ControlContext) async throws -> Response
    ) async throws -> Response {
        let access = DashboardAccess(host: host, port: context.localPort, keys: keys)
        let verdict = access.judge(DashboardAccess.Visit(request))
        if verdict == .serve { context.keepConnection(at: seats) }
        var response =
            switch verdict {
            case .serve: try await next(request, context)
            case .welcome: Response(status: .seeOther, headers: [.location: "/", .setCookie: access.setCookie])
            case .refuse(let refusal): refusal.response(to: request)
            }
        Self.protect(&response)
        return response
    }

    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
        frame-ancestors 'none'; base-uri 'none'; form-action 'self'
        """

    /// Adds what keeps a browser from showing the reply elsewhere, guessing its type, and storing it.
    private static func protect(_ response: inout Response) {
        response.headers[.contentSecurityPolicy] = policy
        response.headers[.xContentTypeOptions] = "nosniff"
        for (name, value) in [
            ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ] {
            if let name = HTTPField.Name(name) { response.headers[name] = value }
        }
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
    }
}

extension DashboardAccess.Visit {
    fileprivate init(_ request: Request) {
        method = request.method
        path = request.uri.path
        host = request.head.authority
        origin = request.headers[.origin]
        fetchSite = HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] }
        cookies = request.headers[values: .cookie]
        authorization = request.headers[.authorization]
    }
}

extension DashboardAccess.Refusal {
    /// A person who opens the page without the cookie gets a page.
    fileprivate func response(to request: Request) -> Response {
        if self == .noCookie, request.method == .get, request.headers[.accept]?.contains("text/html") == true {
            return Response(
                status: .unauthorized, headers: [.contentType: "text/html; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: Self.closedPage)))
        }
        return switch self {
        case .foreignHost:
            ControlReply.error(
                .forbidden, "foreign_host", "the dashboard answers to its own address only; `outbox status` shows it")
        case .foreignOrigin:
            ControlReply.error(.forbidden, "foreign_origin", "this request comes from another page")
        case .noCookie:
            ControlReply.error(
                .unauthorized, "no_cookie", "open the dashboard with the URL that `outbox status` shows")
        }
    }

    /// The link helps after a click on the secret URL in another page: the browser withholds the new cookie from
    /// the redirect, which that page caused.
    private static let closedPage = """
        <!doctype html>
        <html lang="en"><meta charset="utf-8"><title>Outbox</title>
        <meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
        <h1>Open the dashboard with its secret URL</h1>
        <p><code>outbox status</code> shows the URL. It is new each time the agent starts.</p>
        <p>You have just opened it? <a href="/">Continue to the dashboard</a></p>
        </html>

        """
}
