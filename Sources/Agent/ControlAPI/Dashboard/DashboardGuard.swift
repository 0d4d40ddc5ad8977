import LinuxSystem
import HTTPTypes
import Hummingbird
import NIOCore
import Session

/// Lets only the user's own requests through, and tells the browser to keep other pages out.
struct DashboardGuard: RouterMiddleware {
    /// The rules for the port that a client connected to.
    let access: @Sendable (Int) -> DashboardAccess
    /// `control.metrics_token_file`, read at each use: its token may change.
    let metricsTokenFile: String?
    let seats: ConnectionSeats

    func handle(
        _ request: Request, context: ControlContext,
        next: (Request, ControlContext) async throws -> Response
    ) async throws -> Response {
        let access = access(context.localPort)
        let visit = DashboardAccess.Visit(request)
        let verdict = access.judge(visit, metricsToken: access.needsMetricsToken(visit) ? await metricsToken() : nil)
        if verdict == .serve { context.keepConnection(at: seats) }
        var response =
            switch verdict {
            case .serve: try await next(request, context)
            case .welcome: Response(status: .seeOther, headers: [.location: "/", .setCookie: access.setCookie])
            case .refuse(let refusal): refusal.response(to: request, visit)
            }
        Self.protect(&response)
        return response
    }

    private func metricsToken() async -> String? {
        guard let metricsTokenFile else { return nil }
        let text = await TimeLimit.run("metrics-token", .seconds(5)) { ProcFile.text(metricsTokenFile) } ?? nil
        return text.flatMap(BearerToken.firstLine(of:))
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
    fileprivate func response(to request: Request, _ visit: DashboardAccess.Visit) -> Response {
        if self == .noCookie, request.method == .get, request.headers[.accept]?.contains("text/html") == true {
            let page = Self.closedPage(isFollowed: visit.fetchSite == "cross-site")
            return Response(
                status: .unauthorized, headers: [.contentType: "text/html; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
        }
        return switch self {
        case .foreignHost:
            ControlReply.error(
                .forbidden, "foreign_host", "the dashboard answers to its own address only: `outbox dashboard`")
        case .foreignOrigin:
            ControlReply.error(.forbidden, "foreign_origin", "this request comes from another page")
        case .noCookie:
            ControlReply.error(
                .unauthorized, "no_cookie", "open the dashboard with the URL that `outbox dashboard` prints")
        }
    }

    /// Another page that leads to the secret URL, such as the one of `outbox dashboard --open`, causes the redirect, so
    /// the browser withholds the new cookie from it. The closed page then leads on once, and the browser sends the cookie.
    private static func closedPage(isFollowed: Bool) -> String {
        let onwards = isFollowed ? "<meta http-equiv=\"refresh\" content=\"0; url=/\">" : ""
        return """
            <!doctype html>
            <html lang="en"><meta charset="utf-8"><title>Outbox</title>\(onwards)
            <meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
            <h1>Open the dashboard with its secret URL</h1>
            <p><code>outbox dashboard</code> prints the URL. It is new each time the agent starts.</p>
            <p>You have just opened it? <a href="/">Continue to the dashboard</a></p>
            </html>

            """
    }
}
