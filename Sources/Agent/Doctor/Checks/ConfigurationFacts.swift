/// Problems of a valid configuration.
struct ConfigurationFacts: Equatable, Sendable {
    /// The file; nil if the defaults apply.
    var file: String?
    /// Ignored settings, one line each.
    var warnings: [String]
    /// The user's own configuration, if it is not read because the working directory contains another one.
    var shadowed: String?
    /// Why the agent refuses to start with this configuration.
    var refusal: String?

    var findings: [Finding] {
        let edit = "edit \(file ?? "agent.toml")"
        var found = refusal.map { [Finding(.configuration, .stop, $0, remedy: edit)] } ?? []
        found += warnings.map { Finding(.configuration, .warning, $0, remedy: "correct or unset it") }
        if let shadowed {
            let message = "\(file ?? "agent.toml") is in use, so the agent ignores \(shadowed)"
            let remedy = "choose a file with --config, or run this in another directory"
            found.append(Finding(.configuration, .warning, message, remedy: remedy))
        }
        guard found.isEmpty else { return found }
        let message = file.map { "\($0) is valid" } ?? "no agent.toml was found: the defaults apply"
        return [Finding(.configuration, .ok, message)]
    }
}
