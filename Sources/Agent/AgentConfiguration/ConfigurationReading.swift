import Text
internal import Glibc
internal import TOMLKit

/// Builds a configuration from the defaults, then the file, then the environment. Finally checks the rules between
/// keys.
///
/// Continues after an error, so that `config check` can report all of them.
struct ConfigurationReading {
    private(set) var configuration: Configuration
    /// The origins of values that are not defaults, by full key name.
    private(set) var origins: [String: SettingOrigin] = [:]
    private(set) var errors: [ConfigurationError] = []
    private(set) var warnings: [String] = []
    private let defaults: Configuration

    init(home: String) {
        defaults = Configuration(home: home)
        configuration = defaults
    }

    /// Whether the settings so far name every key with its default, as the reference `agent.toml` does.
    var isReference: Bool {
        configuration == defaults && ConfigurationKey.all.allSatisfy { origins[$0.path] != nil }
    }

    /// Reads the settings in a file.
    ///
    /// - Parameters:
    ///   - name: the file's name in messages.
    ///   - resolver: resolves relative paths against the directory of the file.
    mutating func read(file text: [UInt8], name: String, resolver: PathResolver) {
        let document: ConfigurationDocument
        do {
            document = try ConfigurationDocument(text, name: name)
        } catch {
            errors.append(error)
            return
        }
        let file = FileReading(name: name, lines: document.lines, resolver: resolver)
        for name in document.table.keys {
            guard let value = document.table[name] else { continue }
            if name == HookReading.table {
                read(hooks: value, from: file)
            } else if ConfigurationKey.tables.contains(name) {
                read(table: name, value, from: file)
            } else {
                read(name, in: "", value, from: file)
            }
        }
    }

    /// Reads the settings in the environment.
    ///
    /// - Parameter resolver: resolves relative paths against the current directory.
    mutating func read(environment: [String: String], resolver: PathResolver) {
        var unknown = Set(environment.keys.filter { $0.hasPrefix("OUTBOX_") }).subtracting(Self.otherVariables)
        for key in ConfigurationKey.all {
            guard unknown.remove(key.variable) != nil, let text = environment[key.variable] else { continue }
            store(key, from: .environment(key.variable), resolver) { () throws(Objection) in try key.parse(text) }
        }
        let stylePrefix = ConfigurationKey.variable(table: ConfigurationKey.styles, name: "") + "_"
        for variable in unknown.sorted() where !variable.hasPrefix("OUTBOX_RECEIVER_") {
            let style =
                variable.hasPrefix(stylePrefix) ? String(variable.dropFirst(stylePrefix.count)).lowercased() : ""
            if ConfigurationKey.isStyleName(style), let text = environment[variable] {
                let key = ConfigurationKey(styleNamed: style)
                store(key, from: .environment(variable), resolver) { () throws(Objection) in try key.parse(text) }
            } else {
                let nearest = Spelling.nearest(to: variable, among: ConfigurationKey.all.map(\.variable))
                let hint = nearest.map { "; did you mean \($0)?" } ?? ""
                warnings.append("environment \(variable.shortened): no such setting, ignored\(hint)")
            }
        }
    }

    /// Fills keys that name files of secrets with the credentials of the service manager (man 5 systemd.exec,
    /// "CREDENTIALS"), unless the file or the environment set them.
    ///
    /// - Parameter directory: `$CREDENTIALS_DIRECTORY`, absolute.
    mutating func read(credentialsIn directory: String) {
        let resolver = PathResolver(home: "/", directory: "/")
        for (credential, path) in Self.credentials where origins[path] == nil {
            let file = directory + "/" + credential
            guard let key = ConfigurationKey.all.first(where: { $0.path == path }), access(file, F_OK) == 0 else {
                continue
            }
            store(key, from: .environment("CREDENTIALS_DIRECTORY"), resolver) { .string(file) }
        }
    }

    /// The names of credentials, and the keys that they fill.
    private static let credentials = [
        ("outbox.token", "remote.token_file"), ("outbox.access_key", "remote.access_key_file"),
        ("outbox.secret_key", "remote.secret_key_file"),
    ]

    /// Checks the rules between keys, if each key is valid on its own.
    mutating func checkRules() {
        guard errors.isEmpty else { return }
        for violation in configuration.ruleViolations {
            let key = violation.keys.first { origins[$0] != nil } ?? violation.keys.first
            errors.append(
                ConfigurationError(
                    kind: .badValue, origin: key.flatMap { origins[$0] } ?? .default, key: key, reason: violation.reason
                ))
        }
    }

    /// Variables of the agent that are not keys.
    private static let otherVariables: Set<String> = ["OUTBOX_CONFIG", "OUTBOX_MEDIA", "OUTBOX_TOKEN"]
}

/// The file that is being read.
private struct FileReading {
    let name: String
    let lines: KeyLines
    let resolver: PathResolver

    func origin(_ path: String...) -> SettingOrigin {
        .file(name, line: lines[path.filter { !$0.isEmpty }])
    }
}

extension ConfigurationReading {
    private mutating func read(hooks value: any TOMLValueConvertible, from file: FileReading) {
        let table = HookReading.table
        guard value.type == .array, let elements = value.array, elements.allSatisfy({ $0.type == .table }) else {
            return fail(
                .badValue, file.origin(table), table, "is a list of tables; write [[hook]] on a line of its own")
        }
        for (index, element) in elements.enumerated() {
            guard let keys = element.table else { continue }
            let origin = file.origin(table, "\(index)")
            do throws(Objection) {
                let hook = try HookReading(keys, file.resolver).hook()
                if configuration.hooks.contains(where: { $0.name == hook.name }) {
                    throw Objection("name: two hooks have the name \(hook.name)")
                }
                configuration.hooks.append(hook)
                origins[table] = origin
            } catch {
                fail(.badValue, origin, "\(table)[\(index)]", error.reason)
            }
        }
    }

    /// Hooks and the heartbeat run programs and tell others, so a file that only lies in the working directory may not have
    /// them.
    mutating func refuseHooks(of file: String) {
        let key = configuration.hooks.isEmpty ? "heartbeat.url" : HookReading.table
        guard !configuration.hooks.isEmpty || configuration.heartbeat.url != nil else { return }
        guard let origin = origins[key], case .file = origin else { return }
        fail(
            .badValue, origin, key,
            "is refused in a file that only lies in the working directory: give --config \(file) if you trust it")
    }

    private mutating func read(table: String, _ value: any TOMLValueConvertible, from file: FileReading) {
        guard value.type == .table, let keys = value.table else {
            fail(.badValue, file.origin(table), table, "is a table; write [\(table)] on a line of its own")
            return
        }
        for name in keys.keys {
            guard let value = keys[name] else { continue }
            read(name, in: table, value, from: file)
        }
    }

    private mutating func read(
        _ name: String, in table: String, _ value: any TOMLValueConvertible, from file: FileReading
    ) {
        let origin = file.origin(table, name)
        if table == ConfigurationKey.styles {
            guard ConfigurationKey.isStyleName(name) else {
                let reason = "cannot be the name of a style: use letters, digits, _ and -, and not \"original\""
                return fail(.badValue, origin, "\(table).\(name.asKeyPart)", reason)
            }
            return store(ConfigurationKey(styleNamed: name), SettingValue(value), from: origin, file)
        }
        guard let key = ConfigurationKey.all.first(where: { $0.table == table && $0.name == name }) else {
            let full = table.isEmpty ? name.asKeyPart : "\(table).\(name.asKeyPart)"
            let reason = Suggestion.forUnknown(name, in: table, isTable: value.type == .table)
            return fail(.unknownKey, origin, full, reason)
        }
        store(key, SettingValue(value), from: origin, file)
    }

    private mutating func store(
        _ key: ConfigurationKey, _ value: SettingValue, from origin: SettingOrigin, _ file: FileReading
    ) {
        store(key, from: origin, file.resolver, element: { file.origin(key.table, key.name, "\($0)") }) { value }
    }

    /// Stores a value, or records the error.
    ///
    /// - Parameter element: returns the place of an array's element, if the element has its own.
    private mutating func store(
        _ key: ConfigurationKey, from origin: SettingOrigin, _ resolver: PathResolver,
        element: (Int) -> SettingOrigin? = { _ in nil }, value: () throws(Objection) -> SettingValue
    ) {
        do throws(Objection) {
            try key.store(value(), resolver, &configuration)
            origins[key.path] = origin
        } catch {
            let index = error.element
            let place = index.flatMap(element) ?? origin
            fail(.badValue, place, index.map { "\(key.path)[\($0)]" } ?? key.path, error.reason)
        }
    }

    private mutating func fail(
        _ kind: ConfigurationError.Kind, _ origin: SettingOrigin, _ key: String, _ reason: String
    ) {
        errors.append(ConfigurationError(kind: kind, origin: origin, key: key, reason: reason))
    }
}

/// Suggests a replacement for an unknown key or table.
private enum Suggestion {
    /// What other programs call the keys of `[remote]`.
    private static let otherNames = [
        "access_key": "access_key_file", "access_key_id": "access_key_file", "aws_access_key_id": "access_key_file",
        "secret_key": "secret_key_file", "secret_access_key": "secret_key_file",
        "aws_secret_access_key": "secret_key_file", "secret": "secret_key_file", "endpoint": "url",
        "endpoint_url": "url", "server": "url", "host": "url", "address": "url", "type": "protocol",
        "provider": "protocol",
        "token": "token_file", "api_key": "token_file", "bucket_name": "bucket", "region_name": "region",
        "force_path_style": "path_style", "use_path_style": "path_style", "addressing_style": "path_style",
        "chunk_size": "part_size", "path": "prefix", "folder": "prefix", "ca_cert": "ca_file", "cacert": "ca_file",
        "aws_profile": "profile", "shared_credentials_file": "credentials_file", "encryption": "server_side_encryption",
    ]

    static func forUnknown(_ name: String, in table: String, isTable: Bool) -> String {
        let what = isTable ? "unknown table" : "unknown key"
        let siblings = ConfigurationKey.all.filter { $0.table == table }.map(\.name)
        let candidates =
            table.isEmpty ? (isTable ? ConfigurationKey.tables : siblings + ConfigurationKey.tables) : siblings
        let synonym = table == "remote" && !isTable ? otherNames[name.lowercased()] : nil
        if let nearest = synonym ?? Spelling.nearest(to: name, among: candidates) {
            return "\(what); did you mean \"\(nearest)\"?"
        }
        if let stray = ConfigurationKey.all.first(where: { $0.name == name && $0.table != table }) {
            let home = stray.table.isEmpty ? "at the top, before the first [table]" : "under [\(stray.table)]"
            return "\(what); \"\(name)\" belongs \(home)"
        }
        let known = candidates.map { "\"\($0)\"" }.joined(separator: ", ")
        return "\(what); known here: \(known)"
    }
}
