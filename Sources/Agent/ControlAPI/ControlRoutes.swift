import FoundationEssentials
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import Reports
import UploadCore

/// The routes for files, posts, uploads, events and metrics (docs/http.md).
struct ControlRoutes: Sendable {
    private let backend: any ControlBackend
    private let sources: any SourceBackend
    private let avatars: (any AvatarBackend)?

    /// - Parameter avatars: provides the counters of the mirror; `nil` without a mirror.
    init(backend: any ControlBackend, sources: any SourceBackend, avatars: (any AvatarBackend)?) {
        self.backend = backend
        self.sources = sources
        self.avatars = avatars
    }

    /// Adds the routes to a router.
    func add(to router: Router<ControlContext>) {
        let table = RouteTable(router)
        table.add(.get, "/v1/health") { [backend] _, _ in
            try ControlReply.encoded(await backend.health())
        }
        files.add(to: table)
        posts.add(to: table)
        table.add(.get, "/v1/uploads/:key") { [backend] _, context in
            let key = try Self.key(in: context)
            let files = await backend.files(of: key)
            guard !files.isEmpty else { throw Self.noSuchUpload(key) }
            return ControlReply.list(Listing(reports: files))
        }
        addActions(to: table)
        addViews(to: table)
        table.add(.post, "/v1/prune") { [backend] _, _ in
            try ControlReply.encoded(await backend.prune())
        }
        table.add(.get, "/v1/events") { [backend] request, _ in
            EventStream(backend, request: request).response()
        }
        table.add(.get, "/metrics") { [backend, avatars] _, _ in
            var metrics = await backend.metrics()
            metrics.avatars = await avatars?.figures()
            let text = metrics.prometheusText(process: .now())
            return Response(
                status: .ok, headers: [.contentType: PrometheusText.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        }
        table.close()
    }

    private var files: SubjectRoutes<FileReport> {
        SubjectRoutes(
            actions: UserAction.onFiles,
            list: { [backend] in await backend.files($0) },
            other: { [backend] request in
                guard let query = try PageQuery(request) else { return nil }
                return ControlReply.page(await backend.page(query))
            },
            find: { [backend] in await backend.file(id: $0) },
            perform: { [backend] action, id in
                await backend.perform(action, on: .file(id: id)).map { ControlReply.answer(ActionAnswer($0)) }
            })
    }

    private var posts: SubjectRoutes<SourceReport> {
        SubjectRoutes(
            actions: UserAction.allCases,
            list: { [sources] query in
                Listing(
                    reports: await sources.sources().filter {
                        query.states?.contains($0.state) ?? true && $0.directory.isWithin(query.directory)
                    })
            },
            find: { [sources] in await sources.source(id: $0) },
            perform: { [sources] action, id in
                await sources.perform(action, onSource: id).map(ControlReply.outcome)
            })
    }

    private func addActions(to table: RouteTable) {
        table.add(.post, "/v1/uploads/:key/:action") { [backend, files] _, context in
            let key = try Self.key(in: context)
            let action = try files.action(in: context)
            guard let outcomes = await backend.perform(action, on: .upload(key)) else { throw Self.noSuchUpload(key) }
            return ControlReply.answer(ActionAnswer(outcomes))
        }
        for action in UserAction.onFiles {
            table.add(.post, "/v1/\(action.rawValue)") { [backend] request, _ in
                let directory = try ListQuery<FileState>.directory(in: request)
                if directory == nil, action == .first {
                    throw ControlRefusal(.badRequest, "no_directory", "first needs a directory: /v1/first?below=trip")
                }
                return ControlReply.answer { await backend.performOnAll(action, below: directory) }
            }
        }
    }

    /// Adds what the dashboard shows besides files.
    private func addViews(to table: RouteTable) {
        table.add(.get, "/v1/thumbnails/:key") { [backend] request, context in
            let key = try Self.key(in: context)
            guard let bytes = await backend.thumbnail(of: key) else {
                throw ControlRefusal(.notFound, "no_thumbnail", "there is no thumbnail of \(key)")
            }
            // The key names the content, so its thumbnail never changes.
            return ControlReply.bytes(
                ByteBuffer(bytes: bytes), type: "image/jpeg", tag: "\(key)",
                caching: "private, max-age=86400, immutable", to: request)
        }
        table.add(.get, "/v1/transfers") { [backend] _, _ in try ControlReply.encoded(await backend.transfers()) }
        table.add(.get, "/v1/history") { [backend] request, _ in
            let query = try JournalQuery(request)
            return ControlReply.history(await backend.outcomes(query), mayContinue: query.limit)
        }
        table.add(.get, "/v1/sums") { [backend] _, _ in try ControlReply.encoded(await backend.sums()) }
        table.add(.get, "/v1/hooks") { [backend] _, _ in
            try ControlReply.encoded(["hooks": await backend.hooks()])
        }
        table.add(.post, "/v1/hooks/:name/:action") { [backend] _, context in
            let name = try context.parameters.require("name")
            switch try context.parameters.require("action") {
            case "test": if let test = await backend.testHook(name) { return try ControlReply.encoded(test) }
            case "skip": if await backend.skipHook(name) { return try ControlReply.encoded(["skipped": name]) }
            case let action:
                throw ControlRefusal(.notFound, "unknown_action", "hooks have no action \(action); use test or skip")
            }
            throw ControlRefusal(.notFound, "no_such_hook", "there is no hook \(name)")
        }
        table.add(.get, "/v1/configuration") { [backend] _, _ in ControlReply.json(await backend.settings()) }
    }

    // MARK: Reading requests

    private static func noSuchUpload(_ key: ContentKey) -> ControlRefusal {
        ControlRefusal(.notFound, "no_such_upload", "no file has the key \(key)")
    }

    private static func key(in context: ControlContext) throws -> ContentKey {
        let text = try context.parameters.require("key")
        guard let key = ContentKey(hexadecimal: text) else {
            throw ControlRefusal(.badRequest, "malformed_key", "\(text) is not a key; a key is 32 hexadecimal digits")
        }
        return key
    }
}
