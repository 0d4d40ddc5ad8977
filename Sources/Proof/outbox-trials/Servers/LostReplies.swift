import EndToEndSupport
import TestSupport

/// R4: the server executes requests, and the replies are lost.
struct LostReplies: Trial {
    var kind = RemoteKind.filesection

    var name: String { "R4" + kind.suffix }
    let title = "replies lost after the server committed"
    let bar = "0 duplicates, 0 lost; nothing confirmed is sent again"

    func run(_ context: TrialContext) async throws -> Outcome {
        let each = context.count(quick: 4, usual: 12, long: 500)
        var random = context.random
        let requests = Shared<[String: Int]>([:])
        let lost = Shared<[String: Int]>([:])
        let server = try kind.server { request in
            let number = requests.withLock { counts in
                counts[request, default: 0] += 1
                return counts[request, default: 0]
            }
            // Every other reply, so that the next attempt reveals work done twice.
            guard number % 2 == 1 else { return nil }
            return lost.withLock { counts in
                guard counts[request, default: 0] < each else { return nil }
                counts[request, default: 0] += 1
                return .lostReply
            }
        }
        let agent = try kind.agent(context, of: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        var judge = Judge()
        var findings = Findings()
        let kinds = kind.requests
        var index = 0
        while kinds.contains(where: { lost.value[$0, default: 0] < each }) && index < each * 50 {
            let name = "\(index).jpg"
            let size = index % 3 == 0 ? kind.severalFragments : Int.random(in: 1000...500_000, using: &random)
            judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
            index += 1
            guard index % 3 == 0 else { continue }
            guard try await agent.outcomes(judge, timeout: context.patience) else { break }
        }
        try await agent.outcomes(judge, timeout: context.patience)

        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        for kind in kinds {
            findings.expect(lost.value[kind] == each, "only \(lost.value[kind] ?? 0) replies of \(kind) were lost")
        }
        let counts = kinds.map { "\(lost.value[$0] ?? 0) of \($0)" }.joined(separator: ", ")
        return findings.outcome("\(counts); \(index) files: \(verdict.summary)")
    }
}
