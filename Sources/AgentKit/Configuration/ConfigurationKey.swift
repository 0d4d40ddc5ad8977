import PictureJobs

/// One key of `agent.toml`: the single place that knows its name, its type, where its value goes and what it means.
///
/// Reading the file, overriding from the environment, suggesting what a misspelt key was meant to be, printing the
/// effective configuration and checking the documentation all go by the list ``all``.
struct ConfigurationKey: Sendable {
    /// The table that holds it; empty for the top level.
    let table: String
    let name: String
    /// What may be written.
    let typeName: String
    /// Whether a running agent takes a new value on SIGHUP.
    let isLive: Bool
    /// What it means, for the documentation.
    let summary: String
    /// The text of an environment variable as the value it stands for.
    let parse: @Sendable (String) throws(Objection) -> SettingValue
    /// Stores a value.
    let store: @Sendable (SettingValue, PathResolver, inout Configuration) throws(Objection) -> Void
    /// The value as `agent.toml` would have it.
    let show: @Sendable (Configuration) -> SettingValue
    /// Copies the value of the first into the second.
    let copy: @Sendable (Configuration, inout Configuration) -> Void

    /// The full name: `upload.files_in_flight`.
    var path: String { table.isEmpty ? name : "\(table).\(name)" }

    /// The environment variable that overrides it: `OUTBOX_UPLOAD_FILES_IN_FLIGHT`.
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

    /// The key of the named style in `[avatar_styles]`, the one table whose names are the user's.
    init(styleNamed name: String) {
        self.init("\(Self.styles).\(name)", \.avatarStyles[styleNamed: name], .style, "a named style")
    }

    /// The table of named styles.
    static let styles = "avatar_styles"

    /// Whether a style may bear this name: it becomes the name of a directory, and `original` is built in.
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
