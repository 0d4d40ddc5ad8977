import PictureJobs

/// A key of `agent.toml`: the only definition of its name, type, destination and meaning.
///
/// The list ``all`` drives everything else: reading the file, overriding from the environment, suggestions for
/// misspelt keys, printing the effective configuration, and checking the documentation.
struct ConfigurationKey: Sendable {
    /// The table of the key; empty for the top level.
    let table: String
    let name: String
    /// The permitted values, for the documentation.
    let typeName: String
    /// Whether a running agent adopts a new value on SIGHUP.
    let isLive: Bool
    /// The meaning, for the documentation.
    let summary: String
    /// Converts the text of an environment variable to a value.
    let parse: @Sendable (String) throws(Objection) -> SettingValue
    /// Stores a value.
    let store: @Sendable (SettingValue, PathResolver, inout Configuration) throws(Objection) -> Void
    /// Returns the value as `agent.toml` would contain it.
    let show: @Sendable (Configuration) -> SettingValue
    /// Copies the value from the first configuration to the second.
    let copy: @Sendable (Configuration, inout Configuration) -> Void

    /// The full name: `upload.files_in_flight`.
    var path: String { table.isEmpty ? name : "\(table).\(name)" }

    /// The environment variable that overrides the key: `OUTBOX_UPLOAD_FILES_IN_FLIGHT`.
    var variable: String { Self.variable(table: table, name: name) }

    static func variable(table: String, name: String) -> String {
        (["OUTBOX", table, name].filter { !$0.isEmpty }.joined(separator: "_")).uppercased()
    }

    init<Value: Sendable>(
        _ path: String, _ property: any WritableKeyPath<Configuration, Value> & Sendable, _ type: SettingType<Value>,
        live: Bool = false, _ summary: String
    ) {
        let parts = path.split(separator: ".")
        table = parts.count > 1 ? String(parts[0]) : ""
        name = String(parts.last ?? "")
        typeName = type.name
        isLive = live
        self.summary = summary
        parse = { text throws(Objection) in try type.form.value(of: text) }
        store = { value, resolver, configuration throws(Objection) in
            configuration[keyPath: property] = try type.read(value, resolver)
        }
        show = { type.show($0[keyPath: property]) }
        copy = { $1[keyPath: property] = $0[keyPath: property] }
    }

    /// Creates the key of a named style in `[avatar_styles]`, the only table with user-defined names.
    init(styleNamed name: String) {
        self.init("\(Self.styles).\(name)", \.avatarStyles[styleNamed: name], .style, "a named style")
    }

    /// The table of named styles.
    static let styles = "avatar_styles"

    /// Whether a style may have this name. The name becomes a directory, and `original` is built in.
    static func isStyleName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name != "original" && name.utf8.allSatisfy(KeyLines.isBareKeyByte)
    }
}

extension [String: [PictureStep]] {
    fileprivate subscript(styleNamed name: String) -> [PictureStep] {
        get { self[name] ?? [] }
        set { self[name] = newValue }
    }
}
