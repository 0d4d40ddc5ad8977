/// The result of one check: the observation, its importance and the remedy.
package struct Finding: Equatable, Sendable, Encodable {
    /// How much a finding matters.
    package enum Level: String, Sendable, Encodable, CaseIterable {
        /// All is well.
        case ok
        /// Good to know; no action needed.
        case note
        /// Uploads work, but another function suffers or soon will.
        case warning
        /// Uploads don't work.
        case stop
    }

    /// The check that made the finding.
    package let check: Check
    /// The importance.
    package let level: Level
    /// The observation, in one line.
    package let message: String
    /// The remedy, often a command to type; nil if no action is needed.
    package let remedy: String?

    init(_ check: Check, _ level: Level, _ message: String, remedy: String? = nil) {
        self.check = check
        self.level = level
        self.message = message
        self.remedy = remedy
    }

    private enum CodingKeys: String, CodingKey {
        case check, level, message, remedy
    }

    /// Encodes `{"check", "level", "message", "remedy"}`; a missing remedy is null.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(check, forKey: .check)
        try container.encode(level, forKey: .level)
        try container.encode(message, forKey: .message)
        try container.encode(remedy, forKey: .remedy)
    }
}

/// All checks in the order of printing: first this machine, then the server, then the service that runs the agent. The
/// raw values are documented in docs/troubleshooting.md.
package enum Check: String, Sendable, Encodable, CaseIterable {
    case configuration
    case token
    case outbox
    case outboxFileSystem = "outbox_file_system"
    case outboxSpace = "outbox_space"
    case sidecars
    case state
    case stateFileSystem = "state_file_system"
    case stateSpace = "state_space"
    case avatars
    case portrait
    case watches
    case kernel
    case leases
    case openFiles = "open_files"
    case proxy
    case dns
    case connection
    case certificate
    case server
    case credentials
    case fragmentHeader = "fragment_header"
    case clock
    case mediaTools = "media_tools"
    case agent
    case files
    case dashboard
    case service
    case linger

    /// The title in the printed lines.
    var title: String { String(rawValue.map { $0 == "_" ? " " : $0 }) }
}
