/// The access keys of the protocol `s3`.
struct AccessKeyFacts: Equatable, Sendable {
    /// Where the agent looks for the keys.
    var source: String
    /// Why there are none; nil if there are.
    var problem: String?
    /// Whether the keys are temporary.
    var areTemporary = false

    var findings: [Finding] {
        if let problem { return [Finding(.token, .stop, problem, remedy: "see `man agent.toml`, table [remote]")] }
        let kind = areTemporary ? "temporary access keys" : "access keys"
        return [Finding(.token, .ok, "\(kind) from \(source)")]
    }
}
