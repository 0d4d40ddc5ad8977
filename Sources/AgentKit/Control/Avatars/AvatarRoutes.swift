import Digests
import HTTPTypes
import Hummingbird
import NIOCore
import UploadCore

/// The addresses of mirrored pictures (docs/control.md).
struct AvatarRoutes: Sendable {
    private let backend: (any AvatarBackend)?
    private let placeholder: PlaceholderPicture

    /// - Parameters:
    ///   - backend: the mirror; nil where its directory can't be used.
    ///   - placeholder: served in place of a picture that is not there.
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

    /// The picture, or what stands in for it: a page shows something at once, and asks again.
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

    /// Waits for a picture for as long as the client does.
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

    /// The agent alone knows how long a picture is good for: browsers ask each time, and are told where nothing changed.
    private static func response(_ picture: ServedPicture, to request: Request) -> Response {
        let tag = "\"\(MD5Hasher.hash(picture.bytes).hexadecimal)\""
        var headers = headers(type: picture.type, caching: "private, no-cache")
        headers[.eTag] = tag
        if EntityTags(request.headers[values: .ifNoneMatch]).match(tag) {
            headers[.contentType] = nil
            return Response(status: .notModified, headers: headers)
        }
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: picture.bytes)))
    }

    private static func headers(type: String, caching: String) -> HTTPFields {
        var headers: HTTPFields = [.contentType: type, .cacheControl: caching]
        headers[.xContentTypeOptions] = "nosniff"
        return headers
    }
}

/// The tags of `If-None-Match` (RFC 9110, section 13.1.2).
struct EntityTags: Equatable, Sendable {
    private let tags: Set<String>

    init(_ fields: [String]) {
        // No tag of this server has a comma or a blank in it.
        let tags = fields.flatMap { $0.split { $0 == "," || $0 == " " || $0 == "\t" } }
        self.tags = Set(tags.map { String($0.hasPrefix("W/") ? $0.dropFirst(2) : $0) })
    }

    /// Whether a strong tag is among them, by weak comparison.
    func match(_ tag: String) -> Bool { tags.contains("*") || tags.contains(tag) }
}

extension HTTPFields {
    /// Sets a field whose name is not in the library.
    fileprivate mutating func set(_ name: String, _ value: String) {
        if let name = HTTPField.Name(name) { self[name] = value }
    }
}
