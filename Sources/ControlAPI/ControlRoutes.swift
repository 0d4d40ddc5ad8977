import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Reports
import UploadCore

/// The routes for files, uploads, events and metrics (docs/control.md). Available on every address of the agent.
struct ControlRoutes: Sendable {
    private let backend: any ControlBackend
    private let avatars: (any AvatarBackend)?

    /// - Parameter avatars: provides the counters of the mirror; `nil` without a mirror.
    init(backend: any ControlBackend, avatars: (any AvatarBackend)?) {
        self.backend = backend
        self.avatars = avatars
    }

    /// Adds the routes to a router.
    func add(to router: Router<ControlContext>) {
        let table = RouteTable(router)
        table.add(.get, "/v1/health") { [backend] _, _ in
            try ControlReply.encoded(await backend.health())
        }
        table.add(.get, "/v1/files") { [backend] request, _ in
            ControlReply.list(await backend.files(in: try Self.states(in: request)))
        }
        table.add(.get, "/v1/files/:id") { [backend] _, context in
            let id = try context.parameters.require("id")
            guard let file = await backend.file(id: id) else { throw Self.noSuchFile(id) }
            return ControlReply.json(file.controlText())
        }
        table.add(.get, "/v1/uploads/:key") { [backend] _, context in
            let key = try Self.key(in: context)
            let files = await backend.files(of: key)
            guard !files.isEmpty else { throw Self.noSuchUpload(key) }
            return ControlReply.list(files)
        }
        addActions(to: table)
        table.add(.post, "/v1/prune") { [backend] _, _ in
            try ControlReply.encoded(await backend.prune())
        }
        table.add(.get, "/v1/events") { [backend] request, _ in
            EventStream(hub: backend.events, request: request).response()
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

    private func addActions(to table: RouteTable) {
        table.add(.post, "/v1/files/:id/:action") { [backend] _, context in
            let id = try context.parameters.require("id")
            let action = try Self.action(in: context)
            guard let answer = await backend.perform(action, on: .file(id: id)) else { throw Self.noSuchFile(id) }
            return ControlReply.answer(answer)
        }
        table.add(.post, "/v1/uploads/:key/:action") { [backend] _, context in
            let key = try Self.key(in: context)
            let action = try Self.action(in: context)
            guard let answer = await backend.perform(action, on: .upload(key)) else { throw Self.noSuchUpload(key) }
            return ControlReply.answer(answer)
        }
        // There is no `first` for everything.
        for action in FileAction.allCases where action != .first {
            table.add(.post, "/v1/\(action.rawValue)") { [backend] _, _ in
                ControlReply.answer(await backend.perform(action, on: .all) ?? ActionAnswer())
            }
        }
    }

    // MARK: Reading requests

    private static func noSuchFile(_ id: String) -> ControlRefusal {
        ControlRefusal(.notFound, "no_such_file", "no file has the id \(id)")
    }

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

    private static func action(in context: ControlContext) throws -> FileAction {
        let text = try context.parameters.require("action")
        guard let action = FileAction(rawValue: text) else {
            let known = FileAction.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlRefusal(.notFound, "no_such_action", "unknown action \(text); the actions are \(known)")
        }
        return action
    }

    private static func states(in request: Request) throws -> Set<FileState>? {
        guard let list = request.uri.queryParameters.get("state"), !list.isEmpty else { return nil }
        var states: Set<FileState> = []
        for name in list.split(separator: ",") {
            guard let state = FileState(rawValue: String(name)) else {
                let known = FileState.allCases.map(\.rawValue).joined(separator: ", ")
                throw ControlRefusal(.badRequest, "unknown_state", "unknown state \(name); the states are \(known)")
            }
            states.insert(state)
        }
        return states
    }
}
