import Text
import FoundationEssentials
import LinuxSystem
package import Reports
package import UploadCore

/// Sends requests to a running agent over its Unix socket.
package struct ControlClient: Sendable {
    private let socket: String
    private let peers: ControlPeers
    private let thread = SerialThread(name: "control-client")

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - socket: the path of the control socket.
    ///   - stateDirectory: the agent's state directory; root trusts its owner.
    package init(socket: String, stateDirectory: String) {
        self.socket = socket
        peers = ControlPeers(stateDirectory: stateDirectory)
    }

    /// Returns the agent's health.
    package func health() async throws(ControlError) -> AgentHealth {
        try await get("/v1/health")
    }

    /// Returns the files that a query asks for, sorted by path.
    package func files(
        in states: Set<FileState>? = nil, below directory: RelativePath = .root
    ) async throws(ControlError) -> [FileEntry] {
        try await entries(ListQuery(states: states, below: directory)).entries
    }

    /// Returns the posts in one of the given states, or all posts if `nil`, sorted by directory.
    package func sources(in states: Set<SourceState>? = nil) async throws(ControlError) -> [SourceEntry] {
        try await entries(ListQuery(states: states)).entries
    }

    /// Returns the files or posts that a query asks for, sorted by path; of posts, those of the states.
    package func entries<Entry: SubjectEntry>(
        _ query: ListQuery<Entry.State>
    ) async throws(ControlError) -> EntryList<Entry> {
        if let states = query.states, states.isEmpty { return EntryList(entries: []) }
        return try await get("/v1/\(Entry.noun)s" + query.text)
    }

    /// Returns the entry of a path; `nil` if the agent does not know the path.
    package func file(at path: RelativePath) async throws(ControlError) -> FileEntry? {
        try await entry(id: FileReport.id(of: path))
    }

    /// Returns the file or post with an id; `nil` if the agent knows none.
    package func entry<Entry: SubjectEntry>(id: String) async throws(ControlError) -> Entry? {
        try await find("/v1/\(Entry.noun)s/\(id)")
    }

    /// Returns every path with a content; none if the agent does not know the content.
    package func files(of key: ContentKey) async throws(ControlError) -> [FileEntry] {
        guard let reply: [String: [FileEntry]] = try await find("/v1/uploads/\(key)") else { return [] }
        return try list("files", reply)
    }

    private func list<Entry>(_ name: String, _ reply: [String: [Entry]]) throws(ControlError) -> [Entry] {
        guard let entries = reply[name] else { throw .failed(reason: "the answer has no member \(name)") }
        return entries
    }

    // MARK: Actions

    /// The outcome for each file.
    private struct FileAnswer: Decodable {
        struct Unchanged: Decodable {
            var file: FileEntry
            var reason: String
        }
        struct Counts: Decodable {
            var changed: Int
            var unchanged: Int
        }
        var changed: [FileEntry]
        var unchanged: [Unchanged]
        /// The numbers of all files, also of those that are not listed.
        var counts: Counts?
        /// Whether more files follow later.
        var continues: Bool?

        var outcomes: [ActionOutcome<FileEntry>] {
            changed.map { ActionOutcome($0) } + unchanged.map { ActionOutcome($0.file, refusal: $0.reason) }
        }
    }

    /// The outcome for one post.
    private struct PostAnswer: Decodable {
        var source: SourceEntry
        var refusal: String?
    }

    /// Performs an action on one path.
    ///
    /// - Parameter file: the id of its entry.
    /// - Returns: the outcome; `nil` if the agent no longer knows the path.
    package func perform(
        _ action: UserAction, onFile file: String
    ) async throws(ControlError) -> [ActionOutcome<FileEntry>]? {
        let answer: FileAnswer? = try await find("/v1/files/\(file)/\(action.rawValue)", method: "POST")
        return answer?.outcomes
    }

    /// Performs an action on every path with a content.
    ///
    /// - Returns: the outcome for each path; `nil` if no path has this content any more.
    package func perform(
        _ action: UserAction, onUpload key: ContentKey
    ) async throws(ControlError) -> [ActionOutcome<FileEntry>]? {
        let answer: FileAnswer? = try await find("/v1/uploads/\(key)/\(action.rawValue)", method: "POST")
        return answer?.outcomes
    }

    /// Performs an action on everything, or on the files below a directory that belong to no post.
    ///
    /// - Parameter directory: `nil` for everything; `first` needs a directory.
    package func performOnAll(
        _ action: UserAction, below directory: RelativePath? = nil
    ) async throws(ControlError) -> ActionAnswer<FileEntry> {
        let place = directory.map { "?below=" + ($0 == .root ? "." : Self.escaped("\($0)")) } ?? ""
        let reply = try await get("/v1/\(action.rawValue)" + place, method: "POST", as: FileAnswer.self)
        var answer = ActionAnswer(reply.outcomes)
        if let counts = reply.counts { (answer.changed, answer.unchanged) = (counts.changed, counts.unchanged) }
        answer.continues = reply.continues ?? false
        return answer
    }

    /// Performs an action on a post.
    ///
    /// - Parameter id: the id of its entry.
    /// - Returns: the outcome; `nil` if the agent no longer knows the post.
    package func perform(
        _ action: UserAction, onSource id: String
    ) async throws(ControlError) -> ActionOutcome<SourceEntry>? {
        let answer: PostAnswer? = try await find("/v1/sources/\(id)/\(action.rawValue)", method: "POST")
        return answer.map { ActionOutcome($0.source, refusal: $0.refusal) }
    }

    /// Makes the agent remove the sidecars and entries of vanished files.
    package func prune() async throws(ControlError) -> PruneReport {
        try await get("/v1/prune", method: "POST")
    }

    /// Returns what the hooks do now.
    package func hooks() async throws(ControlError) -> [HookStatus] {
        let reply: [String: [HookStatus]] = try await get("/v1/hooks")
        return try list("hooks", reply)
    }

    /// Has the agent send a made-up outcome to a hook; `nil` if there is none of this name.
    package func testHook(_ name: String) async throws(ControlError) -> HookTest? {
        try await find("/v1/hooks/\(Self.escaped(name))/test", method: "POST")
    }

    /// Has the agent give up what waits for a hook.
    ///
    /// - Returns: whether there is a hook of this name.
    package func skipHook(_ name: String) async throws(ControlError) -> Bool {
        let reply: [String: String]? = try await find("/v1/hooks/\(Self.escaped(name))/skip", method: "POST")
        return reply != nil
    }

    /// Gives the agent a token to store.
    ///
    /// - Returns: whether the agent restarts, because another account signed in.
    package func signIn(token: String, user: String?) async throws(ControlError) -> Bool {
        struct Answer: Decodable {
            var begins_anew: Bool?
        }
        var text = JSONText(layout: .line)
        text.object { text in
            text.member("token", token)
            text.member("user", user)
        }
        let body = try await answer("/v1/session", method: "POST", body: text.bytes)
        return try Self.decode(body, from: "/v1/session", as: Answer.self).begins_anew == true
    }

    /// Makes the agent discard its stored token.
    package func signOut() async throws(ControlError) {
        _ = try await answer("/v1/session", method: "DELETE")
    }

    // MARK: Requests

    func get<Value: Decodable>(
        _ target: String, method: String = "GET", wait: Int32 = 0, as type: Value.Type = Value.self
    ) async throws(ControlError) -> Value {
        try Self.decode(try await answer(target, method: method, wait: wait), from: target)
    }

    /// Like `get`, but returns `nil` if the requested object does not exist.
    private func find<Value: Decodable>(_ target: String, method: String = "GET") async throws(ControlError) -> Value? {
        do {
            return try Self.decode(try await answer(target, method: method), from: target)
        } catch {
            if case .refused(let code, _) = error, Self.absences.contains(code) { return nil }
            throw error
        }
    }

    /// The error codes for objects that do not exist.
    private static let absences: Set<String> = ["no_such_file", "no_such_upload", "no_such_source", "no_such_hook"]

    private static func decode<Value: Decodable>(
        _ body: [UInt8], from target: String, as type: Value.Type = Value.self
    ) throws(ControlError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(body))
        } catch {
            throw .failed(reason: "\(target): \(error)")
        }
    }

    /// Returns the body of a successful reply.
    private func answer(
        _ target: String, method: String, body: [UInt8]? = nil, wait: Int32 = 0
    ) async throws(ControlError) -> [UInt8] {
        let request = ControlRequest(
            socket: socket, peers: peers, method: method, target: target, body: body, wait: wait)
        let result: Result<ControlAnswer, ControlError> = await withCheckedContinuation { continuation in
            thread.run { continuation.resume(returning: request.perform()) }
        }
        let reply = try result.get()
        guard reply.status != 200 else { return reply.body }
        throw Self.refusal(reply, target)
    }

    private static func refusal(_ reply: ControlAnswer, _ target: String) -> ControlError {
        struct Refusal: Decodable {
            struct Reason: Decodable {
                var code: String
                var message: String
            }
            var error: Reason
        }
        if let reason = try? JSONDecoder().decode(Refusal.self, from: Data(reply.body)).error {
            return .refused(code: reason.code, reason: reason.message)
        }
        let text = String(decoding: reply.body.prefix(300), as: UTF8.self)
        return .failed(reason: "\(target): status \(reply.status): \(text)")
    }
}
