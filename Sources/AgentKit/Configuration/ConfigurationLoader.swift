internal import Glibc
import LinuxSystem
import SystemPackage

/// Finds and reads the configuration.
///
/// What surrounds the process comes in through the initialiser; only the files themselves are read from outside.
public struct ConfigurationLoader: Sendable {
    private let home: String
    private let currentDirectory: String
    private let environment: [String: String]
    private let systemDirectory: String

    /// A loader for one user in one place.
    ///
    /// - Parameters:
    ///   - home: the home directory, absolute.
    ///   - currentDirectory: what relative names of files start at, absolute.
    ///   - environment: the environment variables.
    ///   - systemDirectory: where the configuration of the whole machine is.
    public init(
        home: String, currentDirectory: String, environment: [String: String], systemDirectory: String = "/etc/outbox"
    ) {
        self.home = home
        self.currentDirectory = currentDirectory
        self.environment = environment
        self.systemDirectory = systemDirectory
    }

    /// Reads the configuration.
    ///
    /// - Parameter named: the file given with `--config`. Without it: `$OUTBOX_CONFIG`, `./agent.toml`,
    ///   `$XDG_CONFIG_HOME/outbox/agent.toml`, `/etc/outbox/agent.toml`; without any of these the defaults apply. The one in
    ///   the working directory is refused where another user can have written it.
    /// - Throws: everything that is wrong with it; a named file that does not exist is wrong too.
    public func load(named: String? = nil) throws(ConfigurationErrors) -> EffectiveConfiguration {
        guard let found = try find(named: named) else { return try read(nil) }
        return try read(found)
    }

    /// Reads a configuration from a text, as if it were in `file`; for tests and editors.
    ///
    /// - Parameters:
    ///   - text: the bytes of the file.
    ///   - file: its name; relative paths in it start at its directory.
    /// - Throws: everything that is wrong with it.
    public func load(text: [UInt8], file: String) throws(ConfigurationErrors) -> EffectiveConfiguration {
        try read(FoundFile(name: file, path: absolute(file), text: text))
    }

    private struct FoundFile {
        /// As messages name it.
        let name: String
        let path: String
        let text: [UInt8]
        /// The user's own configuration, which goes unread because of this one.
        var shadowed: String?
    }

    private func read(_ file: FoundFile?) throws(ConfigurationErrors) -> EffectiveConfiguration {
        var reading = ConfigurationReading(home: home)
        if let file {
            let directory = PathResolver.normalise(file.path + "/..")
            reading.read(file: file.text, name: file.name, resolver: PathResolver(home: home, directory: directory))
        }
        reading.read(environment: environment, resolver: PathResolver(home: home, directory: currentDirectory))
        reading.checkRules()
        if let errors = ConfigurationErrors(reading.errors) { throw errors }
        return EffectiveConfiguration(reading, file: file?.path, shadowed: file?.shadowed, environment: environment)
    }
}

extension ConfigurationLoader {
    private func find(named: String?) throws(ConfigurationErrors) -> FoundFile? {
        let variable = environment["OUTBOX_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        if let name = named ?? variable {
            let source = named == nil ? "OUTBOX_CONFIG names it" : "--config names it"
            guard let found = try open(name) else {
                throw unreadable(name, "no such file, but \(source); create it or name another")
            }
            return found
        }
        let own = userDirectory + "/outbox/agent.toml"
        if var found = try open("agent.toml", isNamed: false) {
            if access(own, F_OK) == 0, absolute(own) != found.path { found.shadowed = own }
            return found
        }
        for candidate in [own, systemDirectory + "/agent.toml"] {
            if let found = try open(candidate) { return found }
        }
        return nil
    }

    /// `$XDG_CONFIG_HOME`, which counts only if it is absolute (XDG Base Directory Specification), else `~/.config`.
    private var userDirectory: String {
        environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.config"
    }

    private func absolute(_ name: String) -> String {
        PathResolver.normalise(name.hasPrefix("/") ? name : currentDirectory + "/" + name)
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - name: relative to the current directory, or absolute.
    ///   - isNamed: whether the user chose the file or its directory; else it is read only where nobody but the user and
    ///     root can have written it.
    /// - Returns: nil if there is no such file.
    /// - Throws: an error if there is one that cannot be read or believed.
    private func open(_ name: String, isNamed: Bool = true) throws(ConfigurationErrors) -> FoundFile? {
        let path = name.hasPrefix("/") ? name : currentDirectory + "/" + name
        do throws(ReadFailure) {
            let limit = ConfigurationDocument.largestFile
            // A FIFO that somebody put there must not hold the command up.
            let flags = isNamed ? 0 : O_NONBLOCK | O_NOCTTY
            let text = try Self.contents(of: path, limit: limit, flags: flags) { descriptor throws(ReadFailure) in
                guard !isNamed else { return }
                guard let trust = FileTrust(of: descriptor, path: path) else { throw ReadFailure(code: errno) }
                if let objection = trust.objection(user: geteuid(), name: name) {
                    throw ReadFailure(objection: objection)
                }
            }
            return text.map { FoundFile(name: name, path: absolute(name), text: $0) }
        } catch {
            throw unreadable(name, error.objection ?? "cannot be read: \(error)")
        }
    }

    private func unreadable(_ name: String, _ reason: String) -> ConfigurationErrors {
        ConfigurationErrors(
            ConfigurationError(kind: .file, origin: .file(name, line: nil), key: nil, reason: reason))
    }

    private struct ReadFailure: Error, CustomStringConvertible {
        var code: Int32 = 0
        /// Why a file is not believed.
        var objection: String?

        /// Why, and what to do where that can be told.
        var description: String {
            let reason = String(cString: strerror(code))
            return switch code {
            case EACCES, EPERM: "\(reason); check its permissions and those of the directories above"
            case EISDIR: "\(reason); name a file"
            default: reason
            }
        }
    }

    /// The bytes of a file, at most one over `limit`: enough to see that it is too large.
    ///
    /// - Parameters:
    ///   - flags: for open(2), besides those that every file is opened with.
    ///   - check: looks at the open file before anything of it is read.
    private static func contents(
        of path: String, limit: Int, flags: Int32, check: (Int32) throws(ReadFailure) -> Void
    ) throws(ReadFailure) -> [UInt8]? {
        let file: SharedDescriptor
        do throws(Errno) {
            file = try SharedDescriptor(opening: path, flags: O_RDONLY | flags)
        } catch {
            if error == .noSuchFileOrDirectory || error == .notDirectory { return nil }
            throw ReadFailure(code: error.rawValue)
        }
        try check(file.rawValue)
        do throws(Errno) {
            return try readAll(from: file.rawValue, atMost: limit + 1)
        } catch {
            throw ReadFailure(code: error.rawValue)
        }
    }
}
