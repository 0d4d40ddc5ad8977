import AgentConfiguration
import Text
import ArgumentParser
import Glibc
import LinuxSystem
import Processes
import SystemdService

/// The options of the service commands, besides the configuration.
struct ServiceOptions: ParsableArguments {
    @Flag(help: "Use a system unit instead of a user unit. Needs --user; changes need root.")
    var system = false

    @Option(help: ArgumentHelp("The user that the system unit runs as; never root.", valueName: "name"))
    var user: String?

    @Flag(help: "Print a JSON object.")
    var json = false
}

/// The location of a configuration's service, and its environment.
struct ServicePlace {
    let scope: ServiceScope
    private let named: String?
    private let surroundings: Surroundings

    /// - Throws: `ServiceError.usage` for an unsuitable user.
    init(_ common: CommonOptions, _ options: ServiceOptions) throws(ServiceError) {
        surroundings = Surroundings()
        named = common.config
        scope = try Self.scope(options)
    }

    private static func scope(_ options: ServiceOptions) throws(ServiceError) -> ServiceScope {
        guard let name = options.user else {
            if options.system { throw .usage("--system needs --user NAME: a system unit never runs as root") }
            return .user
        }
        guard options.system else { throw .usage("--user NAME needs --system; a user unit always runs as you") }
        guard let account = ServiceAccount(named: name) else {
            throw .usage("--user \(DisplayText.escaped(name)): there is no such user; name an existing one")
        }
        if account.userID == 0 { throw .usage("--user \(name): the agent never runs as root; name another user") }
        return .system(account)
    }

    /// Checks that the process may change the unit.
    func checkRights() throws(ServiceError) {
        if scope != .user, geteuid() != 0 {
            throw .notAllowed("only root can change system units; use sudo, or leave --system out")
        }
    }

    // MARK: The configuration

    /// Loads the configuration as the service will: without the variables of this shell.
    func load() throws(ConfigurationErrors) -> EffectiveConfiguration {
        try ConfigurationLoader(
            home: home, currentDirectory: surroundings.currentDirectory,
            environment: surroundings.environment.filter { Self.places.contains($0.key) && scope == .user }
        ).load(named: named)
    }

    /// Absolute path of the configuration file. A named file need not be readable.
    func file() throws(ConfigurationErrors) -> String? {
        let variable = scope == .user ? surroundings.environment["OUTBOX_CONFIG"] : nil
        guard let name = named ?? variable, !name.isEmpty else { return try load().file }
        return ServiceName.absolute(name, in: surroundings.currentDirectory)
    }

    /// Variables that name the place of the configuration, not its content.
    private static let places = ["OUTBOX_CONFIG", "XDG_CONFIG_HOME"]

    private var home: String {
        if case .system(let account) = scope { return account.home }
        return surroundings.home
    }

    /// The directory of the user's own configurations (XDG Base Directory Specification).
    private var configurationDirectory: String {
        let variable = scope == .user ? surroundings.environment["XDG_CONFIG_HOME"] : nil
        return variable.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.config"
    }

    // MARK: The unit

    func name(of file: String?) -> String {
        ServiceName.name(file: file, userFile: configurationDirectory + "/outbox/agent.toml", scope: scope)
    }

    func path(of name: String) -> String { unitDirectory + "/\(name).service" }

    /// Man 5 systemd.unit, "UNIT FILE LOAD PATH".
    private var unitDirectory: String {
        scope == .user ? configurationDirectory + "/systemd/user" : "/etc/systemd/system"
    }

    var runtimeDirectory: String? { surroundings.environment["XDG_RUNTIME_DIR"] }

    func installer(named name: String) -> ServiceInstaller {
        var environment = surroundings.environment
        let usual = "/run/user/\(getuid())"
        // Shells opened by sudo and su lack this variable, and systemctl needs it to find the service manager.
        if environment["XDG_RUNTIME_DIR"] == nil, access(usual, X_OK) == 0 { environment["XDG_RUNTIME_DIR"] = usual }
        return ServiceInstaller(
            name: name, scope: scope, directory: unitDirectory, runner: ChildCommandRunner(environment: environment))
    }

    /// The path of this program, as bytes.
    func program() throws(ServiceError) -> [UInt8] {
        guard let path = runningProgram() else {
            throw .unavailable("the path of this program is unknown, because /proc is not mounted; mount /proc")
        }
        return path
    }

    /// Notes for the user about risks of this installation.
    func notes(program: [UInt8], warnings: [String]) -> [String] {
        let path = String(decoding: program, as: UTF8.self)
        var notes = warnings
        if ["/tmp/", "/var/tmp/"].contains(where: path.hasPrefix) || path.contains("/.build/") {
            notes.append(
                "the service runs \(DisplayText.escaped(path)), which may be deleted; "
                    + "move outbox to a permanent place and install the service again")
        }
        let lost = surroundings.environment.keys.filter { $0.hasPrefix("OUTBOX_") && !Self.places.contains($0) }
        if !lost.isEmpty {
            notes.append(
                "the service does not get \(lost.sorted().joined(separator: ", ")) of this shell; "
                    + "use agent.toml, or `outbox login` for a token")
        }
        if scope == .user, geteuid() == 0 {
            notes.append("this unit runs the agent as root; --system --user NAME is safer")
        }
        return notes
    }
}
