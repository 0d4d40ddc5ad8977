import UploadCore

/// The name of the unit that belongs to a configuration.
///
/// It is `outbox` for the configuration of the place: `agent.toml` in the user's configuration directory for a user unit,
/// in `/etc/outbox` for a system unit, and the defaults where there is no file. A system unit of somebody's own
/// configuration is `outbox-NAME`. Every other file gives `outbox-STEM-HASH`, where the stem is for people and the hash of
/// the path keeps apart what has the same stem.
public enum ServiceName {
    /// The file that belongs to the whole system.
    public static let systemFile = "/etc/outbox/agent.toml"

    private static let longestStem = 40

    /// The name, without `.service`.
    ///
    /// - Parameters:
    ///   - file: the configuration, an absolute path; nil: there is none, the defaults apply.
    ///   - userFile: where the user's own configuration is looked for, whether it is there or not.
    ///   - scope: whose service manager runs the agent.
    public static func name(file: String?, userFile: String, scope: ServiceScope) -> String {
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

    /// The absolute path of a configuration that is named on a command line; two spellings of a path give one name.
    public static func absolute(_ path: String, in directory: String) -> String {
        PathResolver.normalise(path.hasPrefix("/") ? path : directory + "/" + path)
    }

    /// What tells a person which file it is: its name, or its directory's where it is called `agent.toml` like most.
    private static func stem(of path: String) -> String {
        let parts = path.split(separator: "/").map(String.init)
        var name = parts.last ?? ""
        if name == "agent.toml", parts.count > 1 { name = parts[parts.count - 2] }
        if name.hasSuffix(".toml") { name.removeLast(5) }
        let stem = safe(String(name.prefix(longestStem)))
        return stem.isEmpty ? "agent" : stem
    }

    /// Letters, digits and dashes: nothing that a shell or systemd takes for more than it is.
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
