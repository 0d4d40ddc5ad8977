import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// Signs people in and out on the page of the receiver, with the token of their agent.
final class SignIn: Sendable {
    private static let longestForm = 4096

    private let tokens: Tokens
    private let addresses: Addresses
    private let store: Store
    private let sessions = Sessions()
    private let guesses = Mutex(Guesses())

    init(tokens: Tokens, addresses: Addresses, store: Store) {
        self.tokens = tokens
        self.addresses = addresses
        self.store = store
    }

    /// Returns the user who signed in with this browser; nil if nobody did, or the session is over.
    func user(of request: Request) -> String? {
        guard let secret = secret(in: request), let holder = sessions.holder(secret, at: store.uptime()) else {
            return nil
        }
        guard tokens.isValid(holder, now: store.now()) else {
            sessions.end(secret)
            return nil
        }
        return holder.user
    }

    // MARK: Forms

    /// Answers `POST /sign-in`: a session for a valid token, the form again for another one.
    func begin(_ request: Request, from address: String?) async throws -> Response {
        try addresses.checkForm(request)
        let visitor = VisitorAddress(address)
        try checkGuesses(of: visitor)
        let token = try await token(in: request)
        // Others may have guessed while this form arrived.
        try checkGuesses(of: visitor)
        guard let holder = tokens.holder(of: token, now: store.now()) else {
            guesses.withLock { $0.fail(visitor, at: store.uptime()) }
            store.logger.info("sign-in refused: unknown token", metadata: ["from": "\(address ?? "?")"])
            return SignInPage(isEncrypted: addresses.isEncrypted, isWrong: true).response
        }
        store.logger.info("signed in", metadata: ["user": "\(holder.user)", "from": "\(address ?? "?")"])
        return redirection(
            cookie: sessions.begin(for: holder, at: store.uptime()), lasting: Sessions.lifetime)
    }

    private func checkGuesses(of visitor: VisitorAddress) throws {
        guard let seconds = guesses.withLock({ $0.wait(of: visitor, at: store.uptime()) }) else { return }
        throw Refusal(
            status: .tooManyRequests, message: "Too many wrong tokens. Try again in a minute.",
            retryAfter: Int(seconds))
    }

    /// Answers `POST /sign-out`.
    func end(_ request: Request) throws -> Response {
        try addresses.checkForm(request)
        if let secret = secret(in: request) { sessions.end(secret) }
        return redirection(cookie: "", lasting: 0)
    }

    /// Returns an empty token for a form without one.
    private func token(in request: Request) async throws -> Substring {
        var body = ByteBuffer()
        for try await var chunk in request.body {
            guard body.readableBytes + chunk.readableBytes <= Self.longestForm else {
                throw Refusal.tooLarge("The form is longer than \(Self.longestForm) bytes.")
            }
            body.writeBuffer(&chunk)
        }
        return (FormFields(String(buffer: body))["token"] ?? "").drop { $0.isWhitespace }.prefix { !$0.isWhitespace }
    }

    // MARK: The cookie

    /// Cookies whose name begins with `__Host-` belong to one host over TLS, not to its subdomains
    /// (RFC 6265bis, 4.1.3.2). Browsers send a cookie to every port of its host, where another receiver may listen.
    private var cookie: String {
        addresses.isEncrypted ? "__Host-outbox" : "outbox-receiver-\(addresses.listeningPort)"
    }

    private func secret(in request: Request) -> Substring? {
        let cookies = request.headers[.cookie]?.split(separator: ";") ?? []
        let own = cookies.map { $0.drop { $0 == " " } }.first { $0.hasPrefix("\(cookie)=") }
        return own?.dropFirst(cookie.count + 1)
    }

    private func redirection(cookie value: String, lasting seconds: Int64) -> Response {
        let secure = addresses.isEncrypted ? "; Secure" : ""
        return Response(
            status: .seeOther,
            headers: [
                .location: "./", .cacheControl: "no-store",
                .setCookie: "\(cookie)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict\(secure)",
            ])
    }
}
