import Hummingbird
import Reports
import UploadCore

/// The routes of one kind of subject, files or posts: all of them, one of them, and the actions on one
/// (docs/http.md).
struct SubjectRoutes<Report: SubjectReport>: Sendable {
    /// The actions on one subject.
    let actions: [UserAction]
    /// Returns the reports that a client asks for.
    let list: @Sendable (ListQuery<Report.Entry.State>) async -> Listing<Report>
    /// Answers in place of `list` a request for something else; `nil` if the client asks for a list.
    var other: @Sendable (Request) async throws -> Response? = { _ in nil }
    /// Returns the report with an id; `nil` if there is none.
    let find: @Sendable (_ id: String) async -> Report?
    /// Performs an action and returns the reply; `nil` if nothing has this id.
    let perform: @Sendable (UserAction, _ id: String) async -> Response?

    private static var noun: String { Report.Entry.noun }

    /// Adds the routes to a table.
    func add(to table: RouteTable) {
        let address = "/v1/\(Self.noun)s"
        table.add(.get, address) { [list, other] request, _ in
            if let reply = try await other(request) { return reply }
            return ControlReply.list(await list(try ListQuery(request)))
        }
        table.add(.get, address + "/:id") { [find] _, context in
            let id = try context.parameters.require("id")
            guard let report = await find(id) else { throw Self.noSubject(id) }
            return ControlReply.json(report.controlText())
        }
        table.add(.post, address + "/:id/:action") { [self] _, context in
            let id = try context.parameters.require("id")
            guard let reply = await perform(try action(in: context), id) else { throw Self.noSubject(id) }
            return reply
        }
    }

    private static func noSubject(_ id: String) -> ControlRefusal {
        ControlRefusal(.notFound, "no_such_\(noun)", "no \(Report.Entry.shownNoun) has the id \(id)")
    }

    /// Returns the action that a request names.
    func action(in context: ControlContext) throws -> UserAction {
        let text = try context.parameters.require("action")
        guard let action = actions.first(where: { $0.rawValue == text }) else {
            let known = actions.map(\.rawValue).joined(separator: ", ")
            throw ControlRefusal(.notFound, "no_such_action", "unknown action \(text); the actions are \(known)")
        }
        return action
    }
}
