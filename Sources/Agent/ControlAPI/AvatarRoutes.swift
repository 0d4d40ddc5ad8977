import Digests
import HTTPTypes
import Hummingbird
import NIOCore
import Reports
import UploadCore

/// The addresses of mirrored pictures (docs/http.md).
struct AvatarRoutes: Sendable {
    private let backend: (any AvatarBackend)?
    private let placeholder: PlaceholderPicture

    /// - Parameters:
    ///   - backend: the mirror; `nil` if the mirror's directory can't be used.
    ///   - placeholder: served in place of a missing picture.
    init(backend: (any AvatarBackend)?, placeholder: PlaceholderPicture) {
        self.backend = backend
        self.placeholder = placeholder
    }

    /// Adds the addresses to a router.
    func add(to router: Router<ControlContext>) {
        let table = RouteTable(router)
        table.add(.get, "/v1/avatar") { request, context in try await picture(request, context) }
        table.add(.get, "/v1/avatar/file") { request, context in
            let query = try AvatarQuery(request)
            return try await answer { backend throws(AvatarTrouble) in
                let picture = try await Self.picture(query, from: backend, context)
                return try AvatarFile(url: query.url, style: query.style, picture)
            }
        }
        table.add(.get, "/v1/avatars") { _, _ in
            try await answer { backend throws(AvatarTrouble) in try await backend.list() }
        }
        table.add(.delete, "/v1/avatars") { request, _ in
            let age = try AvatarQuery.age(in: request)
            return try await answer { backend throws(AvatarTrouble) in try await backend.clear(olderThan: age) }
        }
        table.close()
    }

    /// Returns the picture or its placeholder, so that a page shows something at once and can ask again.
    private func picture(_ request: Request, _ context: ControlContext) async throws -> Response {
        let query = try AvatarQuery(request)
        do throws(AvatarTrouble) {
            guard let backend else { throw .noMirror }
            let picture = try await Self.picture(query, from: backend, context)
            return Self.response(picture, to: request)
        } catch {
            if error.kind == .usage { return ControlReply.trouble(error) }
            return placeholder(for: error)
        }
    }

    /// Waits for a picture until the client leaves.
    private static func picture(
        _ query: AvatarQuery, from backend: any AvatarBackend, _ context: ControlContext
    ) async throws(AvatarTrouble) -> ServedPicture {
        try await context.whileClientStays { () async throws(AvatarTrouble) -> ServedPicture in
            try await backend.picture(url: query.url, style: query.style, patience: query.patience)
        }
    }

    private func answer<Value: Encodable & Sendable>(
        _ ask: (any AvatarBackend) async throws(AvatarTrouble) -> Value
    ) async throws -> Response {
        do {
            guard let backend else { throw AvatarTrouble.noMirror }
            return try ControlReply.encoded(try await ask(backend))
        } catch let trouble as AvatarTrouble {
            return ControlReply.trouble(trouble)
        }
    }

    private func placeholder(for trouble: AvatarTrouble) -> Response {
        var headers = Self.headers(type: placeholder.type, caching: "no-store")
        headers.set("X-Outbox-Placeholder", "1")
        if trouble.code != AvatarTrouble.pending { headers.set("X-Outbox-Error", trouble.code) }
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: placeholder.bytes)))
    }

    /// Only the agent knows how long a picture is valid, so browsers ask each time.
    private static func response(_ picture: ServedPicture, to request: Request) -> Response {
        ControlReply.bytes(
            ByteBuffer(bytes: picture.bytes), type: picture.type, tag: MD5Hasher.hash(picture.bytes).hexadecimal,
            caching: "private, no-cache", to: request)
    }

    private static func headers(type: String, caching: String) -> HTTPFields {
        var headers: HTTPFields = [.contentType: type, .cacheControl: caching]
        headers[.xContentTypeOptions] = "nosniff"
        return headers
    }
}

/// The entity tags of `If-None-Match` (RFC 9110, section 13.1.2).
struct EntityTags: Equatable, Sendable {
    private let tags: Set<String>

    init(_ fields: [String]) {
        // The tags of this server contain no commas or spaces.
        let tags = fields.flatMap { $0.split { $0 == "," || $0 == " " || $0 == "\t" } }
        self.tags = Set(tags.map { String($0.hasPrefix("W/") ? $0.dropFirst(2) : $0) })
    }

    /// Whether a strong tag matches, by weak comparison.
    func match(_ tag: String) -> Bool { tags.contains("*") || tags.contains(tag) }
}

extension HTTPFields {
    /// Sets a field whose name the library does not define.
    fileprivate mutating func set(_ name: String, _ value: String) {
        if let name = HTTPField.Name(name) { self[name] = value }
    }
}
