/// A valid configuration with the origin of each value.
package struct EffectiveConfiguration: Sendable, Equatable {
    /// A key with its value.
    struct Setting: Sendable, Equatable {
        /// The full name: `upload.files_in_flight`.
        let key: String
        /// The value as `agent.toml` would contain it. Secrets are masked.
        let value: SettingValue
        /// Where the value comes from.
        let origin: SettingOrigin
    }

    /// The values.
    package let configuration: Configuration
    /// The absolute path of the file; `nil` if no file was found and the defaults apply.
    package let file: String?
    /// All keys in the order of `agent.toml`, then the named styles, then the masked secrets of the environment.
    private(set) var settings: [Setting]
    /// Ignored settings, one per line: misspelt environment variables.
    package let warnings: [String]
    /// Why the file in force is perhaps not the one that the user wants, one item per line.
    private let remarks: [String]
    /// Absolute path of the user's own configuration, if a file in the working directory hides it.
    package let shadowed: String?

    /// Replaces the value of a secret.
    private static let mask = "********"
    /// Secrets that come only from the environment, by their displayed names.
    private static let secrets = [
        ("token", "OUTBOX_TOKEN"), ("access_key", "AWS_ACCESS_KEY_ID"), ("secret_key", "AWS_SECRET_ACCESS_KEY"),
    ]

    init(
        _ reading: ConfigurationReading, file: String?, remarks: [String] = [], shadowed: String? = nil,
        environment: [String: String]
    ) {
        let configuration = reading.configuration
        let styles = configuration.avatarStyles.keys.sorted().map(ConfigurationKey.init(styleNamed:))
        let settings = (ConfigurationKey.all + styles).map { key in
            Setting(key: key.path, value: key.show(configuration), origin: reading.origins[key.path] ?? .default)
        }
        let usesKeys = configuration.remote.protocol.usesAccessKeys
        let secrets = Self.secrets.filter { name, variable in
            !(environment[variable] ?? "").isEmpty && (usesKeys != (name == "token"))
        }
        self.configuration = configuration
        self.file = file
        self.settings =
            settings
            + secrets.map { name, variable in
                Setting(key: name, value: .string(Self.mask), origin: .environment(variable))
            }
        warnings = reading.warnings
        self.remarks = remarks
        self.shadowed = shadowed
    }

    /// What a person should know before using the configuration, one item per line.
    package var notices: [String] {
        remarks + warnings
            + (shadowed.map {
                ["\(file ?? "agent.toml") is in use, so the agent ignores \($0); choose a file with --config"]
            }
                ?? [])
    }

    /// What a setting does not do, although one may expect it; for `config check` only.
    package var remarksOnSettings: [String] {
        let remote = configuration.remote
        var remarks: [String] = []
        if remote.protocol == .s3, remote.key != Configuration.Remote().key {
            remarks.append(
                "remote.key: one content has one object, named after the first file with it; later files with the same content get no object of their own"
            )
        }
        if let url = try? WebAddress(remote.url), !url.isEncrypted, url.host.lowercased() == "localhost" {
            remarks.append(
                "remote.url: localhost may lead to [::1], where another user can listen for the token; write 127.0.0.1 or [::1], whichever the server listens on"
            )
        }
        return remarks
    }

    /// The error to report if a token exists but must not be sent to this server; `nil` if it may be sent.
    package var tokenObjection: ConfigurationError? {
        guard !configuration.remote.allowsToken else { return nil }
        let origin = settings.first { $0.key == "remote.url" }?.origin ?? .default
        return ConfigurationError(
            kind: .badValue, origin: origin, key: "remote.url",
            reason: "a token is not sent over plain http; use https://, or set remote.insecure_http = true")
    }

    /// Returns the settings for people: key, value and origin in aligned columns.
    package func lines() -> [String] {
        let rows = settings.map { ($0.key, $0.value.description, $0.origin.description) }
        let keyWidth = rows.map(\.0.count).max() ?? 0
        // A long list in one row must not push the origins of the other rows out of sight.
        let valueWidth = min(rows.map(\.1.count).max() ?? 0, 40)
        return rows.map { key, value, origin in
            key.padded(to: keyWidth) + " = " + value.padded(to: valueWidth) + "  # " + origin
        }
    }
}

extension EffectiveConfiguration: Encodable {
    private enum CodingKeys: String, CodingKey {
        case file, settings, warnings
    }

    /// Encodes `{"file": …, "settings": [{"key", "value", "origin"}, …], "warnings": […]}`.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(file, forKey: .file)
        try container.encode(settings, forKey: .settings)
        try container.encode(notices, forKey: .warnings)
    }
}

extension EffectiveConfiguration.Setting: Encodable {
    private enum CodingKeys: String, CodingKey {
        case key, value, origin
    }

    /// Encodes the setting. The origin has its printed form.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(key, forKey: .key)
        try container.encode(value, forKey: .value)
        try container.encode(origin.description, forKey: .origin)
    }
}

extension EffectiveConfiguration {
    /// Adopts the live keys of a new configuration in a running agent and keeps all other values.
    ///
    /// - Returns: the resulting configuration, and the full names of changed keys that need a restart.
    package func adoptingLiveKeys(of new: EffectiveConfiguration) -> (
        configuration: Configuration, needRestart: [String]
    ) {
        var adopted = configuration
        for key in ConfigurationKey.all where key.isLive { key.copy(new.configuration, &adopted) }
        var needRestart = ConfigurationKey.all.filter {
            !$0.isLive && $0.show(configuration) != $0.show(new.configuration)
        }
        .map(\.path)
        if configuration.avatarStyles != new.configuration.avatarStyles { needRestart.append(ConfigurationKey.styles) }
        if configuration.hooks != new.configuration.hooks { needRestart.append(HookReading.table) }
        return (adopted, needRestart)
    }

    /// Returns this configuration as shown to people, with the live keys of a new one.
    package func withLiveSettings(of new: EffectiveConfiguration) -> EffectiveConfiguration {
        let live = Set(ConfigurationKey.all.filter(\.isLive).map(\.path))
        let changed = Dictionary(new.settings.map { ($0.key, $0) }) { first, _ in first }
        var copy = self
        copy.settings = settings.map { live.contains($0.key) ? changed[$0.key] ?? $0 : $0 }
        return copy
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
