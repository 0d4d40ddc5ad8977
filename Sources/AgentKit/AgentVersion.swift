/// The version of the programs of this package.
public enum AgentVersion {
    /// The semantic version in `outbox --version` and `/v1/health`.
    public static let current = "0.1.0"
}
