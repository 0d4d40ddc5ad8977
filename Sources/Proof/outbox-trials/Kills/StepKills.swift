import EndToEndSupport
import TestSupport

/// R2: kills the agent before and after each step that changes the disk or the server.
struct StepKills: Trial {
    var kind = RemoteKind.filesection

    var name: String { "R2" + kind.suffix }
    let title = "agent killed at every named step"
    let bar = "0 lost, 0 duplicates, 0 mixtures; at most kills × fragments in flight are sent again"

    private typealias Rule = FaultBoard.Rule

    private struct Step {
        let name: String
        let action: Rule.Action
        let functions: [String]
        let pattern: String

        init(_ action: Rule.Action, _ name: String, _ functions: String..., of pattern: String = "*") {
            self.action = action
            self.name = name
            self.functions = functions
            self.pattern = pattern
        }
    }

    /// The requests of an upload: name, and pattern of the URL.
    private var requests: [(name: String, pattern: String)] {
        switch kind {
        case .filesection: [("preLoad", "*/preLoad.do"), ("fragment", "*/upload.do"), ("isFinish", "*/isFinish.do")]
        case .tus: [("creation", "*/files"), ("PATCH", "*/files/*")]
        case .s3:
            [
                ("object", "*.jpg"), ("creation of an upload", "*?uploads=*"), ("part", "*partNumber=*"),
                ("completion", "*?uploadId=*"),
            ]
        }
    }

    private var steps: [Step] {
        let requests = requests
        return [Rule.Action.killBefore, .killAfter].flatMap { when in
            [
                Step(when, "ledger commit", "mdb_txn_commit"),
                Step(when, "ledger sync", "fdatasync", "fsync", of: "*/state/*"),
                Step(when, "sidecar begun", "create", of: "*/outbox/*"),
                Step(when, "sidecar written", "write", "pwrite", of: "*/outbox/*"),
                Step(when, "sidecar renamed", "rename", of: "*.outbox.json"),
            ] + log(when) + requests.map { Step(when, "\($0.name) begun", "curl_multi_add_handle", of: $0.pattern) }
        } + requests.map { Step(.killAfter, "\($0.name) answered", "curl_multi_info_read", of: $0.pattern) }
    }

    /// The steps of the log of acknowledgements. The other protocols ask the server instead.
    private func log(_ when: Rule.Action) -> [Step] {
        guard kind == .filesection else { return [] }
        return [
            Step(when, "acknowledgement written", "write", "writev", "pwrite", of: "*/state/acknowledged*"),
            Step(when, "acknowledgements emptied", "ftruncate", of: "*/state/acknowledged*"),
        ]
    }

    func run(_ context: TrialContext) async throws -> Outcome {
        let each = context.count(quick: 1, usual: 2, long: 50)
        var random = context.random
        let server = try kind.server(delay: .milliseconds(2))
        let agent = try kind.agent(
            context, of: server.url, ["upload.files_in_flight": 2, "upload.fragments_in_flight": 2])
        let usual = agent.environment
        let board = try FaultBoard(in: context.place)
        var judge = Judge()
        var findings = Findings()
        var killed: [String: Int] = [:]
        // All kills, including those before the step was reached.
        var kills = 0

        for round in 0..<each {
            for (index, step) in steps.enumerated() {
                // The agent may name all three files in one request, and then makes no second one.
                let isShared = ["*/preLoad.do", "*/isFinish.do"].contains(step.pattern)
                let drawn = Int.random(in: 1...(isShared ? 1 : 3), using: &random)
                // The agent may make fewer calls than drawn, but at least one.
                for call in drawn == 1 ? [1] : [drawn, 1] {
                    let rule = Rule(step.action, step.functions, calls: call...call, of: step.pattern)
                    agent.environment = usual.merging(board.environment([rule])) { $1 }
                    try agent.launch()
                    for number in 0..<3 {
                        let name = "\(round)-\(index)-\(call)-\(number).jpg"
                        let size =
                            number == 0 ? kind.severalFragments : Int.random(in: 1000...1_200_000, using: &random)
                        judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
                    }
                    let isReached = try await agent.died(within: .seconds(call == 1 ? 60 : 10))
                    try await agent.kill()
                    kills += 1
                    guard isReached else { continue }
                    killed["\(step.action.rawValue) \(step.name)", default: 0] += 1
                    break
                }
            }
        }
        agent.environment = usual
        try await agent.start()
        try await agent.outcomes(judge, timeout: context.patience)

        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        let bound = kills * 4 * kind.fragmentsPerRequest
        findings.add(verdict)
        findings.expect(
            server.repeatedFragments <= bound,
            "\(server.repeatedFragments) fragments sent again, at most \(bound) were in flight")
        for step in steps where killed["\(step.action.rawValue) \(step.name)"] == nil {
            findings.expect(false, "never reached: \(step.action.rawValue) \(step.name)")
        }
        return findings.outcome(
            "\(killed.values.reduce(0, +)) kills at \(killed.count) of \(steps.count) steps: \(verdict.summary); "
                + "\(server.repeatedFragments) fragments sent again (bound \(bound))")
    }
}
