import AgentConfiguration
import LinuxSystem
import Glibc

extension ServiceFacts {
    /// The directories of services, the most important one first (man 5 systemd.unit, "Unit File Load Path").
    struct Places {
        var home: String
        var user: [String]
        var system = ["/etc/systemd/system", "/usr/local/lib/systemd/system", "/lib/systemd/system"]
        /// The directories of packages among these.
        var packages = ["/usr/lib/systemd/user", "/lib/systemd/system"]

        /// The usual places of a configuration, the first one that exists counts.
        var usual: [String] { [configurations + "/outbox/agent.toml", "/etc/outbox/agent.toml"] }
        private var configurations: String

        init(home: String, environment: [String: String]) {
            self.home = home
            let own = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.config"
            configurations = own
            user = [
                own + "/systemd/user", "/etc/systemd/user", home + "/.local/share/systemd/user",
                "/usr/lib/systemd/user",
            ]
        }
    }

    /// Reads unit files, without asking systemd.
    ///
    /// - Parameters:
    ///   - file: Absolute path of the configuration; nil if the defaults apply.
    ///   - places: The directories to search.
    ///   - agent: The running agent; nil if none runs.
    init(configurationFile file: String?, places: Places, agent: Int32?) {
        hasSystemd = ProcFile.exists("/run/systemd/system")
        let userName = getpwuid(geteuid()).flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? ""
        self.userName = userName
        let usual = places.usual.first(where: ProcFile.exists)
        configuration = file == usual ? nil : file
        let found = [(Scope.user, places.user), (.system, places.system)].flatMap { scope, directories in
            Self.units(in: directories, scope: scope, user: userName) {
                $0.runs(configuration: file, usual: usual, home: places.home)
            }
        }
        // A package brings its units to every machine, also where another unit starts the agent.
        let hasEnabled = found.contains { $0.unit.isEnabled }
        units = found.filter { $0.unit.isEnabled || !hasEnabled || !places.packages.contains($0.directory) }.map(\.unit)
        isRunning = agent != nil
        runningUnit = agent.flatMap { ProcFile.text("/proc/\($0)/cgroup") }.flatMap(AgentProcess.unit(inCgroup:))
        isLingering = userName.isEmpty ? nil : ProcFile.exists("/var/lib/systemd/linger/\(userName)")
    }

    /// Returns the units in these directories, a name that several have only from the first. Of a template, only the
    /// user's own instance counts, and only if it is enabled.
    private static func units(
        in directories: [String], scope: Scope, user: String, where isMeant: (UnitCommand) -> Bool
    ) -> [(unit: Unit, directory: String)] {
        let wanted = directories.flatMap { directory in
            ProcFile.names(in: directory).filter { $0.hasSuffix(".wants") }
                .flatMap { ProcFile.names(in: "\(directory)/\($0)") }
        }
        var seen: Set<String> = []
        var units: [(unit: Unit, directory: String)] = []
        for directory in directories {
            for file in ProcFile.names(in: directory).filter({ $0.hasSuffix(".service") }).sorted() {
                guard seen.insert(file).inserted, let text = ProcFile.text("\(directory)/\(file)"),
                    isMeant(UnitCommand(text))
                else { continue }
                let isTemplate = file.hasSuffix("@.service")
                let name = String(file.dropLast(".service".count)) + (isTemplate ? user : "")
                let isEnabled = wanted.contains(name + ".service")
                guard isEnabled || !isTemplate else { continue }
                units.append((Unit(name: name, scope: scope, isEnabled: isEnabled), directory))
            }
        }
        return units
    }
}

/// The command of a systemd unit file.
struct UnitCommand {
    /// The words of ExecStart=.
    let command: [String]

    /// Reads a unit file (man 5 systemd.service, "COMMAND LINES"). Words may be quoted. A backslash at the end of a
    /// line continues the line; elsewhere it makes the next character literal. `%%` stands for `%` and `$$` for `$`.
    init(_ text: String) {
        let joined = text.split(separator: "\\\n", omittingEmptySubsequences: false).joined(separator: " ")
        let line = joined.split(separator: "\n").last { $0.hasPrefix("ExecStart=") }
        command = Self.words(line?.dropFirst("ExecStart=".count) ?? "")
    }

    /// Whether the unit runs the agent with this configuration; nil: without one.
    ///
    /// - Parameter usual: The configuration that the agent finds without `--config`. A service has no working directory
    ///   to search.
    func runs(configuration: String?, usual: String?, home: String) -> Bool {
        guard let program = command.first, program.hasSuffix("outbox"), command.contains("run") else { return false }
        return (namedConfiguration(home: home) ?? usual) == configuration
    }

    private func namedConfiguration(home: String) -> String? {
        for (word, next) in zip(command, command.dropFirst() + [""]) {
            let value = word == "--config" ? next : word.hasPrefix("--config=") ? String(word.dropFirst(9)) : nil
            guard let value else { continue }
            let plain = value.replacing("%h", with: home).replacing("%%", with: "%").replacing("$$", with: "$")
            return PathResolver.normalise(plain)
        }
        return nil
    }

    private static func words(_ line: Substring) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var isEscaped = false
        for character in line {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
                continue
            }
            switch character {
            case "\\": isEscaped = true
            case quote: quote = nil
            case "\"" where quote == nil, "'" where quote == nil:
                quote = character
                word = word ?? ""
            case " " where quote == nil, "\t" where quote == nil:
                if let word { words.append(word) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }
}
