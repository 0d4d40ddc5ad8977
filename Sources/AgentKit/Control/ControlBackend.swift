import UploadCore

/// What the control interface shows and steers.
protocol ControlBackend: Sendable {
    /// How the agent is.
    func health() async -> AgentHealth

    /// Every path in one of the given states, ordered by path; all of them where nil.
    func files(in states: Set<FileState>?) async -> [FileReport]

    /// The path with an id; nil when there is none.
    func file(id: String) async -> FileReport?
}
