import AgentConfiguration
package import LinuxSystem
import UploadCore

/// The name of the unit that belongs to a configuration.
///
/// `outbox` is the unit of the default configuration. For a user unit, that is `agent.toml` in the user's
/// configuration directory, or the built-in defaults without a file. For a system unit, it is
/// `/etc/outbox/agent.toml`. A system unit with the user's own configuration, or without a file, is `outbox-NAME`.
/// Every other file gives `outbox-STEM-HASH`: the stem is readable, and the hash of the path separates files with the
/// same stem.
package enum ServiceName {
    /// The system-wide configuration file.
    private static let systemFile = "/etc/outbox/agent.toml"

    private static let longestStem = 40

    /// Returns the unit's name, without `.service`.
    ///
    /// - Parameters:
    ///   - file: Absolute path of the configuration; nil if the defaults apply.
    ///   - userFile: Path of the user's own configuration. The file may be missing.
    ///   - scope: The service manager that runs the agent.
    package static func name(file: String?, userFile: String, scope: ServiceScope) -> String {
        switch scope {
        case .user:
            if file == nil || file == userFile { return "outbox" }
        case .system(let account):
            if file == systemFile { return "outbox" }
            if file == nil || file == userFile { return "outbox-" + safe(account.name) }
        }
        let path = file ?? ""
        return "outbox-\(stem(of: path))-\(hash(of: path))"
    }

    /// Returns the absolute, normalised path of a configuration named on a command line. Two spellings of a path give
    /// one unit name.
    package static func absolute(_ path: String, in directory: String) -> String {
        PathResolver.normalise(path.hasPrefix("/") ? path : directory + "/" + path)
    }

    /// Returns a readable stem: the file's name, or its directory's name if the file is called `agent.toml`.
    private static func stem(of path: String) -> String {
        let parts = path.split(separator: "/").map(String.init)
        var name = parts.last ?? ""
        if name == "agent.toml", parts.count > 1 { name = parts[parts.count - 2] }
        if name.hasSuffix(".toml") { name.removeLast(5) }
        let stem = safe(String(name.prefix(longestStem)))
        return stem.isEmpty ? "agent" : stem
    }

    /// Keeps letters, digits and dashes, which have no special meaning in a shell or in systemd.
    private static func safe(_ text: String) -> String {
        let dashed = text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
        return String(dashed).split(separator: "-").joined(separator: "-")
    }

    /// The upper half of 64-bit FNV-1a, 8 hexadecimal digits.
    private static func hash(of text: String) -> String {
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return UInt32(truncatingIfNeeded: hash >> 32).hexadecimal
    }
}

/// The service manager that runs the agent.
package enum ServiceScope: Equatable, Sendable {
    /// The user's own service manager.
    case user
    /// The system's service manager. The agent runs as this user, never as root.
    case system(ServiceAccount)
}
