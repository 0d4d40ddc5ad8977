import Foundation

@testable import AgentConfiguration

/// Loads a text as `/etc/agent.toml`, with the home directory `/home/ann` and the current directory `/work`.
func load(_ text: String, environment: [String: String] = [:]) throws(ConfigurationErrors) -> EffectiveConfiguration {
    let loader = ConfigurationLoader(home: "/home/ann", currentDirectory: "/work", environment: environment)
    return try loader.load(text: Array(text.utf8), file: "/etc/agent.toml")
}

/// Returns the first error of a text, without the name of the file; nil if the text is valid.
func refusal(_ text: String, environment: [String: String] = [:]) -> String? {
    refusals(text, environment: environment).first
}

/// Returns all errors of a text, without the name of the file.
func refusals(_ text: String, environment: [String: String] = [:]) -> [String] {
    do throws(ConfigurationErrors) {
        _ = try load(text, environment: environment)
        return []
    } catch {
        return error.all.map { $0.description.replacing("/etc/agent.toml:", with: "") }
    }
}
