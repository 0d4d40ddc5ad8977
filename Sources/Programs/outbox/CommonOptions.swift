import AgentConfiguration
import ArgumentParser
import Glibc

/// The options of every command.
struct CommonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The configuration file, instead of the usual places.", valueName: "file"),
        completion: .file(extensions: ["toml"]))
    var config: String?

    /// Loads the configuration.
    ///
    /// - Throws: `ConfigurationErrors`.
    func effectiveConfiguration(in surroundings: Surroundings) throws(ConfigurationErrors) -> EffectiveConfiguration {
        let loader = ConfigurationLoader(
            home: surroundings.home, currentDirectory: surroundings.currentDirectory,
            environment: surroundings.environment)
        return try loader.load(named: config)
    }
}

/// The process's environment, read once at the start of a command.
struct Surroundings {
    let environment: [String: String]
    let currentDirectory: String
    let home: String

    init() {
        environment = Self.readEnvironment()
        currentDirectory = Self.readCurrentDirectory()
        home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? Self.readHome()
    }

    /// Returns the bytes of a command-line argument. A name that is not UTF-8 was changed when it became a `String`.
    func bytes(of argument: String) -> [UInt8] {
        guard argument.unicodeScalars.contains("\u{FFFD}") else { return Array(argument.utf8) }
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let raw = CommandLine.unsafeArgv[index], String(cString: raw) == argument else { continue }
            return Array(UnsafeBufferPointer(start: raw, count: strlen(raw)).lazy.map { UInt8(bitPattern: $0) })
        }
        return Array(argument.utf8)
    }

    private static func readEnvironment() -> [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let parts = String(cString: entry).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            next += 1
        }
        return variables
    }

    private static func readCurrentDirectory() -> String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }

    private static func readHome() -> String {
        guard let entry = getpwuid(getuid()), let directory = entry.pointee.pw_dir else { return "/" }
        return String(cString: directory)
    }
}
