import AgentSupport
import Hummingbird
import NIOCore
import Reports
import UploadCore

/// The routes of sources (docs/control.md).
struct SourceRoutes: Sendable {
    private let backend: any SourceBackend

    init(backend: any SourceBackend) {
        self.backend = backend
    }

    /// Adds the routes to a router.
    func add(to router: Router<ControlContext>) {
        let table = RouteTable(router)
        table.add(.get, "/v1/sources") { [backend] request, _ in
            let states = try Self.states(in: request)
            let sources = await backend.sources().filter { states?.contains($0.state) ?? true }
            return ControlReply.list(sources)
        }
        table.add(.get, "/v1/sources/:id") { [backend] _, context in
            let id = try context.parameters.require("id")
            guard let source = await backend.source(id: id) else { throw Self.noSuchSource(id) }
            return ControlReply.json(source.controlText())
        }
        table.add(.post, "/v1/sources/:id/:wish") { [backend] _, context in
            let id = try context.parameters.require("id")
            let wish = try Self.wish(in: context)
            guard let answer = await backend.perform(wish, onSource: id) else { throw Self.noSuchSource(id) }
            return ControlReply.json(answer.controlText())
        }
        table.close()
    }

    // MARK: Reading requests

    private static func noSuchSource(_ id: String) -> ControlRefusal {
        ControlRefusal(.notFound, "no_such_source", "no post has the id \(id)")
    }

    private static func wish(in context: ControlContext) throws -> SourceWish {
        let text = try context.parameters.require("wish")
        guard let wish = SourceWish(rawValue: text) else {
            let known = SourceWish.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlRefusal(.notFound, "no_such_action", "unknown action \(text); the actions are \(known)")
        }
        return wish
    }

    private static func states(in request: Request) throws -> Set<SourceState>? {
        guard let list = request.uri.queryParameters.get("state"), !list.isEmpty else { return nil }
        var states: Set<SourceState> = []
        for name in list.split(separator: ",") {
            guard let state = SourceState(word: String(name)) else {
                let known = SourceState.allCases.map(\.word).joined(separator: ", ")
                throw ControlRefusal(.badRequest, "unknown_state", "unknown state \(name); the states are \(known)")
            }
            states.insert(state)
        }
        return states
    }
}

extension SourceAnswer {
    /// `{"source":…,"refusal":…}`
    package func controlText() -> [UInt8] {
        var text = JSONText(layout: .line)
        text.object { $0.member("refusal", refusal) }
        return Array("{\"source\":".utf8) + source.controlText() + [UInt8(ascii: ",")] + text.bytes.dropFirst()
    }
}

extension ControlReply {
    /// `{"sources":[…]}`, one source per line.
    static func list(_ sources: [SourceReport]) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                try await writer.write(ByteBuffer(string: "{\"sources\":["))
                for (index, source) in sources.enumerated() {
                    var text = ByteBuffer(string: index == 0 ? "\n" : ",\n")
                    text.writeBytes(source.controlText())
                    try await writer.write(text)
                }
                try await writer.write(ByteBuffer(string: "\n]}\n"))
                try await writer.finish(nil)
            })
    }
}
