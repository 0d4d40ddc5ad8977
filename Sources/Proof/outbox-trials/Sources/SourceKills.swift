import EndToEndSupport
import TestSupport

/// R25: kills the agent while posts arrive, change and disappear, and while the server misbehaves.
struct SourceKills: Trial {
    let name = "R25"
    let title = "agent killed during posts, bad server"
    let bar =
        "every post is committed once and whole; 0 lost, 0 duplicates, 0 mixtures; nothing of a draft is sent; no sidecar "
        + "is torn; at most kills × fragments in flight are sent again, plus those that the server lost"

    private typealias Rule = FaultBoard.Rule

    private let filesInFlight = 3
    private let fragmentsInFlight = 2

    /// The calls at which every third kill happens; the number of the call is random.
    private let steps: [(functions: [String], pattern: String, calls: ClosedRange<Int>)] = [
        (["curl_multi_add_handle"], "*/commit.do", 1...2), (["curl_multi_info_read"], "*/commit.do", 1...2),
        (["curl_multi_info_read"], "*/preLoad.do", 1...3), (["curl_multi_info_read"], "*/isFinish.do", 1...4),
        (["create", "rename"], "*source.outbox.json*", 1...6), (["write"], "*/outbox/source-*", 1...40),
        (["mdb_txn_commit"], "*", 1...60), (["fsync", "fdatasync"], "*/state/*", 1...20),
    ]

    func run(_ context: TrialContext) async throws -> Outcome {
        let kills = context.count(quick: 20, usual: 60, long: 200)
        let total = context.count(quick: 12, usual: 30, long: 80)
        var random = context.random
        let faults = SourceFaults(SeededRandom(seed: random.next()))
        let server = try FaultServer(uploadDelay: .milliseconds(10)) { endpoint, _ in faults.fault(endpoint) }
        let agent = try context.agent(
            remote: server.url,
            [
                "upload.files_in_flight": .integer(filesInFlight),
                "upload.fragments_in_flight": .integer(fragmentsInFlight),
            ])
        let usual = agent.environment
        let board = try FaultBoard(in: context.place)
        let forgotten = Shared<[String]>([])
        var stage = SourceStage(agent: agent, server: server, faults: faults, random: random)
        var findings = Findings()
        var reads = 0
        var atSteps = 0

        for kill in 1...kills {
            let step = kill % 3 == 0 ? steps.randomElement(using: &random) : nil
            let rules = step.map { step in
                let call = Int.random(in: step.calls, using: &random)
                return [Rule(.random(using: &random), step.functions, calls: call...call, of: step.pattern)]
            }
            agent.environment = usual.merging(rules.map(board.environment) ?? [:]) { $1 }
            if kill % 4 == 1, rules == nil { try await agent.start() } else { try agent.launch() }
            let isAnswering = kill % 4 == 1 && rules == nil
            while stage.sources.count < min(total, kill * total * 10 / (kills * 9) + 1) { try stage.dropSource() }
            try stage.dropFile()
            try await stage.disturb(isAnswering: isAnswering, &findings)
            if kill % 5 == 0 { forget(server, stage.forgettable, forgotten) }
            try await moment(agent, server, atStep: rules != nil, &random) { reads += stage.readAll(&findings) }
            switch agent.program?.ending {
            case nil: break
            case .killed(9): atSteps += 1
            case let ending:
                findings.expect(
                    false, "the agent ended before kill \(kill): \(String(describing: ending))\n\(agent.log)")
            }
            try await agent.kill()
        }
        agent.environment = usual
        try await agent.start()
        try await settle(stage, patience: context.patience)
        return try outcome(
            stage, forgotten: forgotten.value, kills: kills,
            "\(kills) kills, \(atSteps) at named steps; \(reads) sidecars read, none torn", findings)
    }

    /// Waits for the moment of a kill: after some more requests of one kind, or when the agent dies at the chosen
    /// step.
    private func moment(
        _ agent: Agent, _ server: FaultServer, atStep: Bool, _ random: inout SeededRandom, look: () -> Void
    ) async throws {
        // The rarer requests follow only after the two seconds that a source must be at rest.
        let kinds: [FaultServer.Endpoint] = [.upload, .upload, .preLoad, .isFinish, .commit, .commit]
        let kind = kinds.randomElement(using: &random) ?? .upload
        let goal = server.count(kind) + Int.random(in: 1...(kind == .upload ? 30 : 2), using: &random)
        let longest = Duration.milliseconds(Int.random(in: 500...4000, using: &random))
        do {
            try await Poll.until("the moment of a kill", timeout: longest, every: .milliseconds(2)) {
                look()
                return agent.program?.ending != nil || !atStep && server.count(kind) >= goal
            }
        } catch is Poll.TimedOut {}
    }

    /// Makes the server forget an upload: either an unfinished one, or a finished one without a post.
    private func forget(_ server: FaultServer, _ forgettable: Set<String>, _ forgotten: Shared<[String]>) {
        server.change { store in
            let posted = Set(store.posts.posts.values.flatMap(\.payload.fileIds))
            let victims = store.uploads.filter { id, upload in
                guard forgettable.contains(upload.md5), !posted.contains(id) else { return false }
                return upload.finished || !upload.received.isEmpty
            }
            guard let victim = victims.min(by: { $0.key < $1.key }) else { return }
            if victim.value.finished { forgotten.withLock { $0.append(victim.value.md5) } }
            store.forget(victim.key)
        }
    }

    /// Waits until all posts are complete, and submits changes that came after a source was taken.
    private func settle(_ stage: SourceStage, patience: Duration) async throws {
        var left = stage.posts.directories
        let agent = stage.agent
        do {
            try await Poll.until("posts", timeout: patience, every: .milliseconds(100)) {
                if let ending = agent.program?.ending { throw Surprise("the agent ended: \(ending)\n\(agent.log)") }
                for directory in left {
                    guard let sidecar = try agent.source(directory), sidecar.state == .done,
                        !sidecar.pending_changes.isEmpty
                    else { continue }
                    _ = try await agent.command("submit", directory)
                }
                left = try left.filter { try !stage.posts.isSettled($0, agent.source($0)) }
                return left.isEmpty
            }
        } catch is Poll.TimedOut {}
        try await agent.outcomes(stage.judge, timeout: left.isEmpty ? patience : .seconds(1))
    }

    private func outcome(
        _ stage: SourceStage, forgotten: [String], kills: Int, _ done: String, _ findings: Findings
    ) throws -> Outcome {
        var findings = findings
        let (agent, server) = (stage.agent, stage.server)
        var stored = server.stored
        for key in forgotten { stored.finished.firstIndex(of: key).map { _ = stored.finished.remove(at: $0) } }
        let files = try stage.judge.verdict(stored: stored) { try agent.sidecar($0) }
        let posts = try stage.posts.verdict(server.store.posts) { try agent.source($0) }
        findings.add(files)
        for detail in posts.details { findings.expect(false, detail) }
        for source in stage.sources where source.life == .kept {
            stage.expectSecrecy(of: source, &findings)
            let state = try agent.source(source.directory)?.state.rawValue
            findings.expect(state == "draft", "\(source.directory) is a draft, but its state is \(state ?? "missing")")
        }
        let faults = stage.faults.counts
        for kind in [FaultServer.Endpoint.preLoad, .upload, .isFinish, .commit] where faults[kind] == nil {
            findings.expect(false, "no \(kind) failed, so the trial proves nothing")
        }
        // The server received these fragments without an answer, or received and lost them.
        let unanswered = server.records.count { $0.endpoint == .upload && [.lostReply, .truncated].contains($0.fault) }
        let bound = kills * filesInFlight * fragmentsInFlight
        let excused = server.store.lostBlocks + unanswered
        let again = server.store.repeated
        findings.expect(
            again <= bound + excused,
            "\(again) fragments sent again, \(excused) for the server's faults, bound \(bound)")
        return findings.outcome(
            "\(done); \(stage.sources.count) posts and \(stage.plainFiles) files, \(stage.changes) changes, "
                + "\(faults.values.reduce(0, +)) faults, \(forgotten.count) finished files forgotten: "
                + "\(posts.summary); \(files.summary); \(again) fragments sent again "
                + "(\(excused) for the server's faults, bound \(bound))")
    }
}

extension FaultBoard.Rule.Action {
    /// Returns a kill before or after the call.
    fileprivate static func random(using random: inout SeededRandom) -> Self {
        Bool.random(using: &random) ? .killBefore : .killAfter
    }
}
