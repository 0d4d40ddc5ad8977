import HTTPTypes
import Hummingbird
import NIOCore

/// Commits several files as one post, and serves the page of a post.
struct SourceRoutes {
    let store: Store
    let links: Links
    private var log: RequestLog { RequestLog(store.logger) }

    // MARK: commit.do

    func commit(_ message: CommitMessage, user: String) async throws -> Response {
        let source = Commit.Source(user: user, id: message.sourceID)
        // The file ids of a repeated request may be forgotten by now.
        if let known = try await store.commit(of: source, repeatedAs: message.digest) {
            log.committed(message, user: user, outcome: .unchanged, latest: known.revision)
            return .json(["url": .string(links.source(known))])
        }
        let contents = try message.fileIDs.map { try content(of: $0, user: user) }
        let cover = message.cover.flatMap { message.fileIDs.firstIndex(of: $0) }.map { contents[$0] }
        var listed: Set<Hex128> = []
        let (commit, outcome) = try await store.commit(
            Commit(
                source: source, revision: message.revision, token: .random(), title: message.title,
                createDate: message.createDate, cover: cover, contents: contents.filter { listed.insert($0).inserted },
                requests: [message.digest]))
        log.committed(message, user: user, outcome: outcome, latest: commit.revision)
        return .json(["url": .string(links.source(commit))])
    }

    private func content(of text: String, user: String) throws(Refusal) -> Hex128 {
        guard let id = Hex128(text) else { throw Self.unknown("") }
        switch store.answer(for: id, user: user) {
        case .finished(let content): return content.token
        case .unknown: throw Self.unknown(" \(id)")
        case .failed, .assembling: throw Refusal(status: .conflict, message: "The file \(id) is not finished.")
        }
    }

    /// An unknown id in a commit is rare, unlike elsewhere, so this refusal is not `Refusal.unknownID` and reaches
    /// the log at level info.
    private static func unknown(_ id: String) -> Refusal {
        Refusal(status: .notFound, message: "There is no such file id\(id).")
    }

    // MARK: delete.do

    func deletedIDs(_ message: JSON, user: String) throws -> [String] {
        guard let ids = message["sourceIds"]?.strings else { throw Refusal.notExpectedJSON }
        guard (1...FileSectionRoutes.mostFiles).contains(ids.count) else {
            throw Refusal.badRequest("sourceIds must list 1 to \(FileSectionRoutes.mostFiles) ids.")
        }
        guard ids.allSatisfy({ $0.utf8.count <= CommitMessage.longestText }) else {
            throw Refusal.badRequest("Ids of sources have at most \(CommitMessage.longestText) bytes.")
        }
        return ids
    }

    func delete(_ ids: [String], user: String) async throws -> Response {
        let removed = try await store.removePosts(ids, user: user)
        log.removedPosts(ids, user: user, removed: removed)
        return .json()
    }

    // MARK: The page

    func page(of commit: Commit, _ request: Request, hasSmallPictures: Bool = false) -> Response {
        let page = SourcePage(
            commit: commit, contents: store.contents(of: commit), links: links, hasSmallPictures: hasSmallPictures)
        let html = page.html
        var headers: HTTPFields = [
            .contentType: "text/html; charset=utf-8",
            .eTag: EntityTag.of(html),
            .cacheControl: "private, no-cache",
            .contentSecurityPolicy: page.securityPolicy,
            .xContentTypeOptions: "nosniff",
        ]
        headers.keepSecret()
        if let known = request.headers[.ifNoneMatch], EntityTag.matches(known, headers[.eTag]) {
            return Response(status: .notModified, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }
}

/// The body of `POST /source/commit.do`.
struct CommitMessage: Sendable {
    static let longestText = 1024

    let sourceID: String
    let revision: Int
    let title: String
    let createDate: String
    let cover: String?
    let fileIDs: [String]

    /// Identifies revision, title, cover and list, so that a repeated request is recognised without its files.
    var digest: Hex128 {
        RunningMD5.hash((["\(revision)", title, cover ?? ""] + fileIDs).map { "\($0.utf8.count):\($0)" }.joined())
    }

    init(_ json: JSON) throws(Refusal) {
        guard let sourceID = json["sourceId"]?.string, let revision = json["revision"]?.integer,
            let fileIDs = json["fileIds"]?.strings
        else { throw .notExpectedJSON }
        self.sourceID = sourceID
        self.revision = Int(revision)
        self.fileIDs = fileIDs
        title = try json.text("title") ?? ""
        createDate = try Self.createDate(json)
        cover = try json.text("cover").flatMap { $0.isEmpty ? nil : $0 }
        guard !sourceID.isEmpty, [sourceID, title].allSatisfy({ $0.utf8.count <= Self.longestText }) else {
            throw .badRequest(
                "sourceId must have 1 to \(Self.longestText) bytes, title at most \(Self.longestText).")
        }
        guard revision >= 1 else { throw .badRequest("revision must be 1 or more.") }
        guard (1...FileSectionRoutes.mostFiles).contains(fileIDs.count) else {
            throw .badRequest("fileIds must list 1 to \(FileSectionRoutes.mostFiles) ids.")
        }
        guard (fileIDs + [cover ?? ""]).allSatisfy({ $0.utf8.count <= FileSectionRoutes.longestID }) else {
            throw .badRequest("Ids have at most \(FileSectionRoutes.longestID) characters.")
        }
        guard cover.map(fileIDs.contains) ?? true else { throw .badRequest("cover must be one of fileIds.") }
    }

    /// Returns an empty string if the date is missing.
    private static func createDate(_ json: JSON) throws(Refusal) -> String {
        guard let text = try json.text("createDate") else { return "" }
        guard text.utf8.count <= longestText, PostDate.isDate(text) else {
            throw .badRequest("createDate must be a date and time such as 2026-11-21 09:30:00.")
        }
        return text
    }
}
