import Hummingbird
package import Reports
package import UploadCore

/// Which files or posts a client asks for: the parameters of `GET /v1/files` and `GET /v1/sources`.
package struct ListQuery<State: StateWord>: Sendable {
    /// The states; `nil` for all.
    package var states: Set<State>?
    /// Only subjects in this directory, and files dropped there that moved away.
    package var directory = RelativePath.root
    /// The maximum number of subjects of each state: of final states, those that ended last; `nil` for all.
    package var limit: Int?

    package init(states: Set<State>? = nil, below directory: RelativePath = .root, atMost limit: Int? = nil) {
        (self.states, self.directory, self.limit) = (states, directory, limit)
    }

    /// Reads the parameters of a request.
    ///
    /// - Throws: `ControlRefusal` for an unknown state, a malformed directory or limit.
    init(_ request: Request) throws {
        let parameters = request.uri.queryParameters
        if let list = parameters.get("state"), !list.isEmpty { states = try Self.states(list) }
        directory = try Self.directory(in: request) ?? .root
        if let text = parameters.get("limit"), !text.isEmpty {
            guard let number = Int(text), number >= 0 else {
                throw ControlRefusal(
                    .badRequest, "malformed_limit", "\(text) is not a limit; a limit is a number, such as 100")
            }
            limit = number
        }
    }

    /// Returns the directory that a request names with `below`; `nil` if it names none.
    ///
    /// - Throws: `ControlRefusal` for a malformed directory.
    static func directory(in request: Request) throws -> RelativePath? {
        guard let text = request.uri.queryParameters.get("below"), !text.isEmpty else { return nil }
        guard let path = text == "." ? .root : RelativePath(shown: text) ?? RelativePath(text) else {
            throw ControlRefusal(.badRequest, "malformed_path", "\(text) is not a path relative to the outbox")
        }
        return path
    }

    private static func states(_ list: String) throws -> Set<State> {
        Set(
            try list.split(separator: ",").map { name in
                guard let state = State(word: String(name)) else {
                    let known = State.allCases.map(\.word).joined(separator: ", ")
                    throw ControlRefusal(
                        .badRequest, "unknown_state", "unknown state \(name); the states are \(known)")
                }
                return state
            })
    }

    /// The parameters as they stand in an address; empty without any.
    var text: String {
        var parameters: [String] = []
        if let states { parameters.append("state=" + states.map(\.word).sorted().joined(separator: ",")) }
        if directory != .root { parameters.append("below=" + ControlClient.escaped("\(directory)")) }
        if let limit { parameters.append("limit=\(limit)") }
        return parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&")
    }
}
