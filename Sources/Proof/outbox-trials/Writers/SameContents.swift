import EndToEndSupport
import TestSupport

/// R16: many paths share few contents, dropped before the agent starts, while it sends, and after it has finished.
struct SameContents: Trial {
    var kind = RemoteKind.filesection

    var name: String { "R16" + kind.suffix }
    let title = "many paths of few contents"
    let bar = "exactly one upload for each content; every path has an outcome"

    func run(_ context: TrialContext) async throws -> Outcome {
        let contents = context.count(quick: 20, usual: 60, long: 100)
        let paths = context.count(quick: 300, usual: 1500, long: 10_000)
        var random = context.random
        let seeds = (0..<contents).map { _ in random.next() }
        let sizes = (0..<contents).map { _ in Int.random(in: 1000...600_000, using: &random) }
        let server = try kind.server(delay: .milliseconds(10))
        let agent = try kind.agent(context, of: server.url)
        var judge = Judge()
        var findings = Findings()

        for index in 0..<paths {
            // Every content exists before the start; later files repeat random contents.
            let content = index < contents ? index : Int.random(in: 0..<contents, using: &random)
            let name = "\(index % 20)/\(index).jpg"
            judge.stands(try agent.drop(name, .jpeg, size: sizes[content], seed: seeds[content]), at: name)
            if index == paths / 3 { try await agent.start() }
            if index > paths / 3 && index % 20 == 0 { try await Task.sleep(for: .milliseconds(1)) }
            if index == paths * 2 / 3 { try await agent.outcomes(judge, timeout: context.patience) }
        }
        try await agent.outcomes(judge, timeout: context.patience)

        let stored = server.stored
        let verdict = try judge.verdict(stored: stored) { try agent.sidecar($0) }
        findings.add(verdict)
        findings.expect(
            stored.finished.count == contents, "\(stored.finished.count) objects for \(contents) contents")
        findings.expect(
            server.repeatedFragments == 0, "\(server.repeatedFragments) fragments were sent more than once")
        let deduplicated = try judge.paths.filter { try agent.sidecar($0)?.deduplicated == true }.count
        findings.expect(
            deduplicated == paths - contents,
            "\(deduplicated) paths say deduplicated, but \(paths - contents) are copies")
        return findings.outcome("\(paths) paths, \(stored.finished.count) uploads, \(deduplicated) deduplicated")
    }
}
