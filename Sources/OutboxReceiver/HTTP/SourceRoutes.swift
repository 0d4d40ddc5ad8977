import HTTPTypes
import Hummingbird
import NIOCore

/// Commits of several files as one post, and the page that shows one.
struct SourceRoutes {
    private static let longestText = 1024

    let store: Store
    let links: Links

    func commit(_ request: Request, user: String) async throws -> Response {
        let message = try await request.json()
        guard let sourceID = message["sourceId"]?.string, let revision = message["revision"]?.integer,
            let ids = message["fileIds"]?.strings
        else { throw Refusal.notExpectedJSON }
        let title = message["title"]?.string ?? ""
        let createDate = message["createDate"]?.string ?? ""
        guard !sourceID.isEmpty, [sourceID, title, createDate].allSatisfy({ $0.utf8.count <= Self.longestText }) else {
            throw Refusal.badRequest("sourceId, title and createDate must have at most \(Self.longestText) bytes.")
        }
        guard (1...FileSectionRoutes.mostFiles).contains(ids.count) else {
            throw Refusal.badRequest("There must be 1 to \(FileSectionRoutes.mostFiles) file ids.")
        }
        let key = Commit.Key(user: user, sourceID: sourceID, revision: Int(revision))
        if let known = try await store.commit(key) { return .json(["url": .string(links.source(known))]) }
        let contents = try ids.map { try content(of: $0, user: user) }
        var cover: Hex128?
        if let id = message["cover"]?.string, !id.isEmpty {
            guard let index = ids.firstIndex(of: id) else { throw Refusal.badRequest("cover must be one of fileIds.") }
            cover = contents[index]
        }
        let commit = try await store.commit(
            Commit(key: key, token: .random(), title: title, createDate: createDate, cover: cover, contents: contents))
        return .json(["url": .string(links.source(commit))])
    }

    private func content(of id: String, user: String) throws(Refusal) -> Hex128 {
        guard let id = Hex128(id) else { throw .unknownID }
        switch store.answer(for: id, user: user) {
        case .finished(let content): return content.token
        case .unknown: throw .unknownID
        case .failed, .assembling: throw Refusal(status: .conflict, message: "The file \(id) is not finished.")
        }
    }

    // MARK: The page

    func page(_ token: Substring) throws -> Response {
        guard let token = Hex128(token), let commit = store.commit(token: token) else { throw Refusal.notFound }
        let contents = commit.contents.compactMap { store.content(token: $0) }
        let title = Self.escaped(commit.title.isEmpty ? commit.key.sourceID : commit.title)
        // The cover comes first.
        let items = (contents.filter { $0.token == commit.cover } + contents.filter { $0.token != commit.cover })
            .map(item).joined(separator: "\n")
        let page = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>\(title)</title>
            <style>body{font:16px sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}img,video{max-width:100%}</style>
            </head><body>
            <h1>\(title)</h1>
            <p>\(Self.escaped(commit.createDate))</p>
            \(items)
            </body></html>

            """
        return Response(
            status: .ok,
            headers: [
                .contentType: "text/html; charset=utf-8", .xContentTypeOptions: "nosniff", .cacheControl: "no-cache",
                .contentSecurityPolicy:
                    "sandbox; default-src 'none'; img-src *; media-src *; style-src 'unsafe-inline'",
            ], body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
    }

    private func item(_ content: Content) -> String {
        let url = Self.escaped(links.file(content))
        let name = Self.escaped(content.name)
        if content.type.hasPrefix("video/") { return "<p><video controls src=\"\(url)\"></video></p>" }
        if MediaType(content.type).isShownInPlace { return "<p><img src=\"\(url)\" alt=\"\(name)\"></p>" }
        return "<p><a href=\"\(url)\">\(name)</a></p>"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
