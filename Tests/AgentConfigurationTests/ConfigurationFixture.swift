import Foundation

@testable import AgentConfiguration

/// The files of the repository that the configuration is documented in.
enum Repository {
    static func text(_ path: String) throws -> String {
        let root = (0..<3).reduce(URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()) { url, _ in
            url.deletingLastPathComponent()
        }
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }
}

/// Reads a text as `/etc/agent.toml` of a user whose home is `/home/ann`, standing in `/work`.
func load(_ text: String, environment: [String: String] = [:]) throws(ConfigurationErrors) -> EffectiveConfiguration {
    let loader = ConfigurationLoader(home: "/home/ann", currentDirectory: "/work", environment: environment)
    return try loader.load(text: Array(text.utf8), file: "/etc/agent.toml")
}

/// The message a text is refused with, without the name of the file; `nil` if it is taken.
func refusal(_ text: String, environment: [String: String] = [:]) -> String? {
    refusals(text, environment: environment).first
}

/// All messages a text is refused with.
func refusals(_ text: String, environment: [String: String] = [:]) -> [String] {
    do throws(ConfigurationErrors) {
        _ = try load(text, environment: environment)
        return []
    } catch {
        return error.all.map { $0.description.replacing("/etc/agent.toml:", with: "") }
    }
}
