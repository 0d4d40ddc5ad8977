import EndToEndSupport
import TestSupport

/// R26: twenty posts of fifty files arrive at once.
struct ManySources: Trial {
    let name = "R26"
    let title = "many full posts at once"
    let bar =
        "all committed once, each with one preLoad of its 50 files; at most 64 MiB of memory (programs of a debug build: "
        + "at most 32 MiB more than when it had started)"
    /// Peak memory has no extended limit: beside others, the agent would hold more posts at a time.
    let company = Company.none

    private let files = 50
    private let most = 64

    func run(_ context: TrialContext) async throws -> Outcome {
        let count = context.count(quick: 4, usual: 20, long: 20)
        var random = context.random
        // The server counts contents without storing them. Only the agent's memory matters.
        let server = try FaultServer(keepsContent: false)
        let agent = try context.agent(remote: server.url)
        var judge = Judge()
        var posts = PostJudge()
        var findings = Findings()
        try await agent.start()
        let idle = agent.peakMemory
        let begun = ContinuousClock.now
        for number in 0..<count {
            let directory = "source-\(number)"
            var contents: [String: [UInt8]] = [:]
            var keys: Set<String> = []
            for file in 0..<files {
                let size = file % 10 == 0 ? 1_500_000 : Int.random(in: 2000...150_000, using: &random)
                let bytes = [UInt8].jpeg(size, seed: random.next())
                contents["\(file).jpg"] = bytes
                let key = Digest.md5(bytes)
                judge.stands(key, at: "\(directory)/\(file).jpg")
                keys.insert(key)
            }
            // Add the directory atomically: a slow writer might pause for two seconds, and the agent would post the
            // first half.
            try agent.writeSource(directory, "title = \"\(directory)\"\n", contents)
            posts.stands(keys, in: directory)
        }
        var left = posts.directories
        do {
            try await Poll.until("posts", timeout: context.patience * 2, every: .milliseconds(50)) {
                left = try left.filter { try !posts.isSettled($0, agent.source($0)) }
                return left.isEmpty
            }
        } catch is Poll.TimedOut {}
        let took = Int((ContinuousClock.now - begun) / .milliseconds(1))
        let memory = agent.peakMemory

        findings.add(try judge.verdict(stored: server.stored) { try agent.sidecar($0) })
        let verdict = try posts.verdict(server.store.posts) { try agent.source($0) }
        for detail in verdict.details { findings.expect(false, detail) }
        let again = server.store.posts.posts.filter { $0.value.times > 1 || $0.key.revision > 1 }
        findings.expect(again.isEmpty, "\(again.count) posts were committed more than once")
        let asked = server.registrations.map(\.count)
        findings.expect(asked == Array(repeating: files, count: count), "preLoads of \(asked) files")
        let limit = try AgentBuild.memoryLimit(most, idle: idle)
        findings.expect((1...limit).contains(memory), "\(memory) MiB of memory, \(idle) MiB after the start")
        return findings.outcome(
            "\(count) posts of \(files) files in \(took) ms: \(verdict.summary); \(server.count(.preLoad)) preLoads, "
                + "\(server.count(.isFinish)) isFinishes, \(server.count(.commit)) commits; \(memory) MiB, \(idle) after the start"
        )
    }
}
