import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import SystemPackage

/// Routes each request to its handler and turns errors into replies.
struct Responder: HTTPResponder {
    typealias Context = ConnectionContext

    let store: Store
    let tokens: Tokens
    let addresses: Addresses
    let visitors: Visitors
    /// Nil if no program draws small pictures.
    let smallPictures: SmallPictures?
    let signIn: SignIn
    let monitoring: Monitoring
    let requestCounts: RequestCounts

    func respond(to request: Request, context: Context) async throws -> Response {
        let response = try await reply(to: request, context)
        store.counters.count { values in
            values.requests += 1
            if response.status.code >= 400 { values.refusals[response.status.code, default: 0] += 1 }
        }
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func reply(to request: Request, _ context: Context) async throws -> Response {
        var user: String?
        do {
            let response = try await answer(request, context, &user)
            context.logger.debug(
                "request", metadata: ["path": "\(Self.shown(request))", "status": "\(response.status.code)"])
            return response
        } catch let refusal as Refusal {
            context.logger.log(
                level: refusal.isRoutine ? .debug : .info, "refused",
                metadata: [
                    "path": "\(Self.shown(request))", "status": "\(refusal.status.code)",
                    "why": "\(LogText.quoted(refusal.message))", "user": "\(user ?? "?")",
                    "from": "\(context.channel.remoteAddress?.ipAddress ?? "?")",
                ])
            return .refusal(refusal)
        } catch let error as Errno {
            context.logger.error(
                "cannot read or write the storage", metadata: ["path": "\(Self.shown(request))", "error": "\(error)"])
            return .refusal(error == .noSpace || error == .diskQuotaExceeded ? .diskFull : .storageFailed)
        }
    }

    /// The path for the log, without the secret part of a URL.
    private static func shown(_ request: Request) -> String {
        let path = request.uri.path
        let first = path.split(separator: "/").first
        return first.map { ["f", "t", "u", "s"].contains($0) } == true ? "\"/\(first ?? "")/…\"" : LogText.quoted(path)
    }

    /// - Parameter known: Receives the user's name as soon as the token is checked.
    private func answer(_ request: Request, _ context: Context, _ known: inout String?) async throws -> Response {
        let channel = context.channel
        if !tokens.areNeeded {
            try addresses.check(host: request.head.authority, origin: request.headers[.origin])
        }
        let links = addresses.links(host: request.head.authority, reached: channel.localAddress)
        let path = request.uri.path
        if tokens.areNeeded, let answer = form(path, channel.remoteAddress?.ipAddress) {
            guard request.method == .post else { throw Refusal.methodNotAllowed("POST") }
            return try await answer(request)
        }
        if let action = action(path, links, channel) {
            guard request.method == .post else { throw Refusal.methodNotAllowed("POST") }
            let user = try tokens.user(authorization: request.headers[.authorization], now: store.now())
            known = user
            if tokens.areNeeded { visitors.vouch(for: channel, as: .user(user)) }
            try requestCounts.enter(user)
            defer { requestCounts.leave(user) }
            return try await action(request, user)
        }
        guard let document = document(path, links, channel) else { throw Refusal.notFound }
        guard request.method == .get || request.method == .head else { throw Refusal.methodNotAllowed("GET, HEAD") }
        let response = try await document.answer(request)
        if document.isSecret {
            let user = tokens.areNeeded ? signIn.user(of: request) : nil
            visitors.vouch(for: channel, as: user.map { .user($0) } ?? .guest)
        }
        return response
    }

    private typealias Action = @Sendable (Request, String) async throws -> Response

    /// Returns the handler for a `POST` to this path, or nil if the path accepts no `POST`.
    private func action(_ path: String, _ links: Links, _ channel: any Channel) -> Action? {
        let fileSection = FileSectionRoutes(store: store, links: links)
        let sources = SourceRoutes(store: store, links: links)
        return switch path {
        case "/fileSection/upload.do": { try await fileSection.upload($0, user: $1) }
        case "/fileSection/preLoad.do":
            parsed(from: channel, fileSection.plans) { try await inTurn($1, fileSection.preLoad, $0) }
        // Waits for other work rather than to do any.
        case "/fileSection/isFinish.do":
            parsed(from: channel, fileSection.askedIDs) { try await fileSection.isFinish($0, user: $1) }
        case "/fileSection/delete.do":
            parsed(from: channel, fileSection.deletedIDs) { try await inTurn($1, fileSection.delete, $0) }
        case "/source/commit.do":
            parsed(from: channel, { json, _ in try CommitMessage(json) }, { try await inTurn($1, sources.commit, $0) })
        case "/source/delete.do": parsed(from: channel, sources.deletedIDs) { try await inTurn($1, sources.delete, $0) }
        case "/user/portrait.do": { try await PortraitRoutes(store: store, links: links).replace($0, user: $1) }
        default: nil
        }
    }

    /// Returns a handler that decodes the body as JSON and passes the message on. Of the JSON, nothing stays in memory while
    /// the action waits.
    private func parsed<Message: Sendable>(
        from channel: any Channel, _ decode: @escaping @Sendable (JSON, String) throws -> Message,
        _ action: @escaping @Sendable (Message, String) async throws -> Response
    ) -> Action {
        { request, user in
            // Usual messages are received at once: a connection that is lost within one holds up nobody.
            let isUsual = request.announcedLength.map { $0 <= Self.usualMessage } ?? false
            let received = isUsual ? try await request.message() : nil
            let message = try await requestCounts.bodies.inTurn(
                of: user, mostWaiting: .max, while: { channel.isActive }
            ) {
                let bytes = if let received { received } else { try await request.message() }
                if bytes.readableBytes <= Self.shortMessage { return try Self.decoded(bytes, decode, user) }
                return try await Task(executorPreference: Self.decodingThread) {
                    try Self.decoded(bytes, decode, user)
                }.value
            }
            return try await action(message, user)
        }
    }

    private static func decoded<Message>(
        _ bytes: ByteBuffer, _ decode: (JSON, String) throws -> Message, _ user: String
    ) throws -> Message {
        guard let json = bytes.withUnsafeReadableBytes({ JSONParser.value(of: $0) }) else {
            throw Refusal.notExpectedJSON
        }
        return try decode(json, user)
    }

    /// Decodes what takes longer than a connection's thread may be busy for one request.
    private static let decodingThread = DiskThreads(count: 1)
    /// In bytes. Decoded at once.
    private static let shortMessage = 4 << 10

    /// Carries out a message on the threads of the work, a few at a time of each user: others need not wait for much work of
    /// one, and requests need not wait for any.
    private func inTurn<Message: Sendable>(
        _ user: String, _ action: @escaping @Sendable (Message, String) async throws -> Response, _ message: Message
    ) async throws -> Response {
        try await requestCounts.work.inTurn(of: user) {
            try await Task(executorPreference: Self.workThreads) { try await action(message, user) }.value
        }
    }

    /// Twice as many as one user can occupy.
    private static let workThreads = DiskThreads(count: 2 * RequestCounts.mostWork)

    /// Makes a page on the threads of the pages, one at a time of each line: anybody with a link may ask for pages at any
    /// rate.
    private func made(
        inLine line: String, for channel: any Channel, _ page: @escaping @Sendable () async throws -> Response
    ) async throws -> Response {
        try await requestCounts.pages.inTurn(
            of: line, mostWaiting: RequestCounts.mostWaiting, while: { channel.isActive }
        ) {
            try await Task(executorPreference: Self.pageThreads) { try await page() }.value
        }
    }

    private static let pageThreads = DiskThreads(count: 2)

    /// In bytes. Fifty files with their names fit.
    private static let usualMessage = 64 << 10

    /// Returns the handler for a form of the server's own page, or nil if the path belongs to no form.
    private func form(_ path: String, _ address: String?) -> ((Request) async throws -> Response)? {
        switch path {
        case "/sign-in": { try await signIn.begin($0, from: address) }
        case "/sign-out": { try signIn.end($0) }
        default: nil
        }
    }

    private struct Document {
        /// Whether the request proves that the client was given the URL.
        var isSecret = true
        let answer: (Request) async throws -> Response
    }

    /// Returns the handler for a `GET` of this path, or nil if the path can never have a document.
    private func document(_ path: String, _ links: Links, _ channel: any Channel) -> Document? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        switch parts.first {
        case nil: return Document(isSecret: false) { try await home($0, channel) }
        case "health" where parts.count == 1: return Document(isSecret: false) { _ in monitoring.health() }
        case "metrics" where parts.count == 1: return Document(isSecret: false) { try monitoring.metrics($0) }
        case "f" where parts.count == 2 || parts.count == 3:
            return Document { try Download(store: store).content(parts[1], $0) }
        case "u" where parts.count == 2:
            return Document { try PortraitRoutes(store: store, links: links).picture(parts[1], $0) }
        case "s" where parts.count == 2:
            return Document { try await page(parts[1], links, $0, channel) }
        case "t" where parts.count == 2:
            return Document { try await smallPicture(parts[1], $0, channel) }
        default: return nil
        }
    }

    /// Returns the page of the user who signed in. Without tokens there is one user, and nobody needs to sign in.
    private func home(_ request: Request, _ channel: any Channel) async throws -> Response {
        let signedIn = tokens.areNeeded ? signIn.user(of: request) : nil
        guard signedIn != nil || !tokens.areNeeded else {
            return SignInPage(isEncrypted: addresses.isEncrypted).response
        }
        if let signedIn { visitors.vouch(for: channel, as: .user(signedIn)) }
        let user = signedIn ?? Tokens.localUser
        let part = OwnerPage.Part(request)
        let hasSmallPictures = smallPictures != nil
        return try await made(inLine: "home \(user)", for: channel) { [store] in
            await OwnerPage(
                of: user, isSignedIn: signedIn != nil, part: part, store: store, hasSmallPictures: hasSmallPictures
            ).response
        }
    }

    private func page(
        _ token: Substring, _ links: Links, _ request: Request, _ channel: any Channel
    ) async throws -> Response {
        guard let token = Hex128(token), let commit = store.commit(token: token) else { throw Refusal.notFound }
        return try await made(inLine: "post \(commit.source.user)", for: channel) { [store, smallPictures] in
            SourceRoutes(store: store, links: links)
                .page(of: commit, request, hasSmallPictures: smallPictures != nil)
        }
    }

    /// Returns a small version of a picture. Falls back to the picture itself if every browser shows its type.
    private func smallPicture(
        _ name: Substring, _ request: Request, _ channel: any Channel
    ) async throws -> Response {
        let token = name.prefix(32)
        guard let smallPictures, let content = Hex128(token).flatMap({ store.content(token: $0) }),
            let use = SmallPictures.Use.allCases.first(where: { $0.name(of: content.token) == name })
        else { throw Refusal.notFound }
        guard let file = try await smallPictures.picture(of: content, for: use, while: { channel.isActive })
        else {
            guard MediaType(content.type).showing == .picture else { throw Refusal.notFound }
            return try Download(store: store).content(token, request)
        }
        return try Download.response(
            file,
            [
                .contentType: "image/jpeg", .eTag: "\"\(name)\"",
                .cacheControl: "private, max-age=31536000, immutable",
                .contentSecurityPolicy: "default-src 'none'; sandbox",
            ], to: request)
    }
}
