/// Whether the dashboard of the running agent answers.
struct DashboardFacts: Equatable, Sendable {
    enum Answer: Equatable, Sendable {
        case healthy
        case status(Int)
        case failed(String)
    }

    /// The URL without the secret: reports of `doctor` are shown to others.
    var address: String
    var answer: Answer

    var findings: [Finding] {
        let problem: String
        switch answer {
        case .healthy: return [Finding(.dashboard, .ok, "\(address) answers; `outbox dashboard` prints its secret URL")]
        case .status(401), .status(403): problem = "refuses the secret in <state>/dashboard-url"
        case .status(let status): problem = "answers with \(status)"
        case .failed(let reason): problem = "gives no answer: \(reason)"
        }
        return [
            Finding(
                .dashboard, .warning, "\(address) \(problem)",
                remedy: "see the agent's log; set control.dashboard to a free port, and start the agent again")
        ]
    }
}
