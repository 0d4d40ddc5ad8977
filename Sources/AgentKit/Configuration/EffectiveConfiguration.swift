/// A valid configuration, and for each of its values where it comes from.
public struct EffectiveConfiguration: Sendable, Equatable {
    /// One key with its value.
    public struct Setting: Sendable, Equatable {
        /// The full name: `upload.files_in_flight`.
        public let key: String
        /// The value as `agent.toml` would have it; a secret is masked.
        public let value: SettingValue
        /// Where the value comes from.
        public let origin: SettingOrigin
    }

    /// The values, ready for use.
    public let configuration: Configuration
    /// The absolute path of the file, `nil` when none was found and the defaults apply.
    public let file: String?
    /// Every key in the order of `agent.toml`, then the named styles, then the secrets of the environment, masked.
    public let settings: [Setting]
    /// What was passed over, a line each: misspelt environment variables.
    public let warnings: [String]
    /// The user's own configuration, where it is not read because the working directory holds one; an absolute path.
    public let shadowed: String?

    /// What stands for the value of a secret.
    static let mask = "********"
    /// Secrets that come from the environment alone, by the names they are shown under.
    private static let secrets = [
        ("token", "OUTBOX_TOKEN"), ("access_key", "AWS_ACCESS_KEY_ID"), ("secret_key", "AWS_SECRET_ACCESS_KEY"),
    ]

    init(
        _ reading: ConfigurationReading, file: String?, shadowed: String? = nil, environment: [String: String]
    ) {
        let configuration = reading.configuration
        let styles = configuration.avatarStyles.keys.sorted().map(ConfigurationKey.init(styleNamed:))
        let settings = (ConfigurationKey.all + styles).map { key in
            Setting(key: key.path, value: key.show(configuration), origin: reading.origins[key.path] ?? .default)
        }
        let isS3 = configuration.remote.protocol == .s3
        let secrets = Self.secrets.filter { name, variable in
            !(environment[variable] ?? "").isEmpty && (isS3 != (name == "token"))
        }
        self.configuration = configuration
        self.file = file
        self.settings =
            settings
            + secrets.map { name, variable in
                Setting(key: name, value: .string(Self.mask), origin: .environment(variable))
            }
        warnings = reading.warnings
        self.shadowed = shadowed
    }

    /// What a person should know before the configuration is used, a line each.
    public var notices: [String] {
        warnings
            + (shadowed.map { ["\(file ?? "agent.toml") is in force, so \($0) is not read; --config chooses one"] }
                ?? [])
    }

    /// The error to stop with when a token is at hand that must not be sent to this server; `nil` where it may.
    public var tokenObjection: ConfigurationError? {
        guard !configuration.remote.allowsToken else { return nil }
        let origin = settings.first { $0.key == "remote.url" }?.origin ?? .default
        return ConfigurationError(
            kind: .badValue, origin: origin, key: "remote.url",
            reason: "a token is not sent over plain http; use https://, or set remote.insecure_http = true")
    }

    /// The key of a part that is not built yet, though its default promises an address to open.
    private static let unbuilt = "control.dashboard"

    /// The settings for people: key, value and origin in aligned columns. What is not in force is a comment.
    public func lines() -> [String] {
        let rows = settings.map { setting in
            setting.key == Self.unbuilt
                ? ("# " + setting.key, setting.value.description, "not built yet: nothing listens there")
                : (setting.key, setting.value.description, setting.origin.description)
        }
        let keyWidth = rows.map(\.0.count).max() ?? 0
        // A long list in one row must not push the origins of all others out of sight.
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
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(file, forKey: .file)
        try container.encode(settings.filter { $0.key != Self.unbuilt }, forKey: .settings)
        try container.encode(notices, forKey: .warnings)
    }
}

extension EffectiveConfiguration.Setting: Encodable {
    private enum CodingKeys: String, CodingKey {
        case key, value, origin
    }

    /// Encodes the origin as it is printed.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(key, forKey: .key)
        try container.encode(value, forKey: .value)
        try container.encode(origin.description, forKey: .origin)
    }
}

extension EffectiveConfiguration {
    /// What a running agent does with a new configuration: it takes the keys that can change live and keeps the others.
    ///
    /// - Returns: the configuration to go on with, and the full names of the keys whose new values need a restart.
    public func adoptingLiveKeys(of new: EffectiveConfiguration) -> (
        configuration: Configuration, needRestart: [String]
    ) {
        var adopted = configuration
        for key in ConfigurationKey.all where key.isLive { key.copy(new.configuration, &adopted) }
        var needRestart = ConfigurationKey.all.filter {
            !$0.isLive && $0.show(configuration) != $0.show(new.configuration)
        }
        .map(\.path)
        if configuration.avatarStyles != new.configuration.avatarStyles { needRestart.append(ConfigurationKey.styles) }
        return (adopted, needRestart)
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
