import HTTPTypes
import Hummingbird

/// Uploads and downloads of profile pictures. Each picture has its own URL, so a cache never shows an outdated one.
struct PortraitRoutes {
    /// The size suffix that the protocol appends to the URL. This server stores one size only.
    private static let style = "!150x150"

    let store: Store
    let links: Links
    private var log: RequestLog { RequestLog(store.logger) }

    func replace(_ request: Request, user: String) async throws -> Response {
        guard request.announcedLength ?? 0 <= Int(PortraitDraft.largest) + SectionParser.room else {
            throw PortraitDraft.tooLarge
        }
        guard store.portraitUsers.enter(user) else { throw Refusal.portraitUnderWay }
        defer { store.portraitUsers.leave(user) }
        var parser = try SectionParser(contentType: request.headers[.contentType], name: "portrait", lengths: nil)
        var draft = try PortraitDraft(of: user, in: store)
        do {
            for try await chunk in request.body {
                if let payload = try parser.payload(in: chunk) { try draft.append(payload) }
            }
            try parser.finish()
            // Waits for the disk, which the thread of many connections must not.
            try await store.largeWork.inTurn(of: user) { [store, draft] in
                try await Task(executorPreference: store.largeFileThreads) { try draft.finish() }.value
            }
        } catch {
            draft.discard()
            throw error
        }
        try await store.recordPortrait(draft.token, size: draft.size, user: user)
        log.portrait(md5: draft.md5, bytes: draft.size, user: user)
        return .json(["userImg": .string(links.portrait(draft.token) + Self.style)])
    }

    func picture(_ name: Substring, _ request: Request) throws -> Response {
        let plain = name.prefix { $0 != "!" }
        guard plain.hasSuffix(".jpg"), let token = Hex128(plain.dropLast(4)),
            let file = try store.portraits.openExisting(PortraitDraft.name(of: token))
        else { throw Refusal.notFound }
        return try Download.response(
            file,
            [
                .contentType: "image/jpeg", .eTag: "\"\(token)\"",
                .cacheControl: "private, max-age=31536000, immutable",
            ], to: request)
    }
}
