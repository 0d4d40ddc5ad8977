/// The version of the programs of this package.
package enum AgentVersion {
    /// The semantic version in `outbox --version` and `/v1/health`.
    package static let current = "0.1.0"
}
