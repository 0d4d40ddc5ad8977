/// The version of the programs of this package.
public enum AgentVersion {
    /// Semantic version, as `outbox --version` and `/v1/health` tell it.
    public static let current = "0.1.0"
}
