import Text
internal import Glibc
import LinuxSystem
import SystemPackage

/// Finds and reads the configuration.
///
/// The initialiser receives the process environment; the loader itself reads only files.
package struct ConfigurationLoader: Sendable {
    private let home: String
    private let currentDirectory: String
    private let environment: [String: String]
    private let systemDirectory: String

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - home: the home directory, absolute.
    ///   - currentDirectory: the base of relative file names, absolute.
    ///   - environment: the environment variables.
    ///   - systemDirectory: the directory of the machine-wide configuration.
    package init(
        home: String, currentDirectory: String, environment: [String: String], systemDirectory: String = "/etc/outbox"
    ) {
        self.home = home
        self.currentDirectory = currentDirectory
        self.environment = environment
        self.systemDirectory = systemDirectory
    }

    /// Reads the configuration.
    ///
    /// - Parameter named: the file given with `--config`. Without it, the loader uses the first of `$OUTBOX_CONFIG`,
    ///   `./agent.toml`, `$XDG_CONFIG_HOME/outbox/agent.toml` and `/etc/outbox/agent.toml`; without any of these, the
    ///   defaults. It refuses a file in the working directory that another user could have written.
    /// - Throws: all mistakes in the configuration. A named file that does not exist is a mistake too.
    package func load(named: String? = nil) throws(ConfigurationErrors) -> EffectiveConfiguration {
        guard let found = try find(named: named) else { return try read(nil) }
        return try read(found)
    }

    /// Reads a configuration from a text as if it were in `file`; for tests and editors.
    ///
    /// - Parameters:
    ///   - text: the bytes of the file.
    ///   - file: its name; relative paths in it start at its directory.
    /// - Throws: everything that is wrong with it.
    func load(text: [UInt8], file: String) throws(ConfigurationErrors) -> EffectiveConfiguration {
        try read(FoundFile(name: file, path: absolute(file), text: text))
    }

    private struct FoundFile {
        /// The file's name in messages.
        let name: String
        let path: String
        let text: [UInt8]
        /// The user's own configuration, which this file hides.
        var shadowed: String?
        /// Whether the file lies in the working directory, and nobody named it.
        var isChance = false
        /// The file's owner if that is another user, who can only be root.
        var stranger: UInt32?
    }

    private func read(_ file: FoundFile?) throws(ConfigurationErrors) -> EffectiveConfiguration {
        var reading = ConfigurationReading(home: home)
        var remarks: [String] = []
        if let file {
            let directory = PathResolver.normalise(file.path + "/..")
            reading.read(file: file.text, name: file.name, resolver: PathResolver(home: home, directory: directory))
            if file.isChance {
                remarks = self.remarks(on: file, isReference: reading.isReference)
                reading.refuseHooks(of: file.name)
            }
        }
        reading.read(environment: environment, resolver: PathResolver(home: home, directory: currentDirectory))
        if let directory = environment["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/") {
            reading.read(credentialsIn: directory)
        }
        reading.checkRules()
        if let errors = ConfigurationErrors(reading.errors) { throw errors }
        return EffectiveConfiguration(
            reading, file: file?.path, remarks: remarks, shadowed: file?.shadowed, environment: environment)
    }

    /// Returns why a file of the working directory is perhaps not the one that the user wants.
    private func remarks(on file: FoundFile, isReference: Bool) -> [String] {
        var remarks: [String] = []
        if let stranger = file.stranger {
            remarks.append(
                "\(file.path) is in use because it lies in the working directory, and belongs to "
                    + "\(UserName.shown(stranger)); choose a file with --config")
        }
        if isReference {
            remarks.append(
                "\(file.path) is in use because it lies in the working directory, but it is the unchanged reference: "
                    + "every key has its default; start outbox in another directory, or write the keys you need into "
                    + "\(own)")
        }
        return remarks
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
        if var found = try open("agent.toml", isNamed: false) {
            found.isChance = true
            if access(own, F_OK) == 0, absolute(own) != found.path { found.shadowed = own }
            return found
        }
        for candidate in [own, systemDirectory + "/agent.toml"] {
            if let found = try open(candidate) { return found }
        }
        return nil
    }

    /// `$XDG_CONFIG_HOME` if it is absolute (XDG Base Directory Specification), otherwise `~/.config`.
    private var userDirectory: String {
        environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.config"
    }

    /// The user's own configuration.
    private var own: String { userDirectory + "/outbox/agent.toml" }

    private func absolute(_ name: String) -> String {
        PathResolver.normalise(name.hasPrefix("/") ? name : currentDirectory + "/" + name)
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - name: absolute, or relative to the current directory.
    ///   - isNamed: whether the user chose the file or its directory. If not, the file is read only if nobody but the
    ///     user and root could have written it.
    /// - Returns: `nil` if the file does not exist.
    /// - Throws: an error if the file can't be read or is not trusted.
    private func open(_ name: String, isNamed: Bool = true) throws(ConfigurationErrors) -> FoundFile? {
        let path = name.hasPrefix("/") ? name : currentDirectory + "/" + name
        var stranger: UInt32?
        do throws(ReadFailure) {
            let limit = ConfigurationDocument.largestFile
            // A FIFO in the file's place must not block the command.
            let flags = isNamed ? 0 : O_NONBLOCK | O_NOCTTY
            let text = try Self.contents(of: path, limit: limit, flags: flags) { descriptor throws(ReadFailure) in
                guard !isNamed else { return }
                guard let trust = FileTrust(of: descriptor, path: path) else { throw ReadFailure(code: errno) }
                if let objection = trust.objection(user: geteuid(), name: name) {
                    throw ReadFailure(objection: objection)
                }
                stranger = trust.owner == geteuid() ? nil : trust.owner
            }
            return text.map { FoundFile(name: name, path: absolute(name), text: $0, stranger: stranger) }
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
        /// Why the file is not trusted.
        var objection: String?

        /// The reason, and what to do if that is known.
        var description: String {
            let reason = String(cString: strerror(code))
            return switch code {
            case EACCES, EPERM: "\(reason); check its permissions and those of the directories above"
            case EISDIR: "\(reason); name a file"
            default: reason
            }
        }
    }

    /// Returns the bytes of a file, at most one more than `limit`. The extra byte shows that the file is too large.
    ///
    /// - Parameters:
    ///   - flags: flags for open(2), in addition to the usual ones.
    ///   - check: examines the open file before it is read.
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
