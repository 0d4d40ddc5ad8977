import EndToEndSupport
import TestSupport

/// R11: every status from 400 to 599 as the answer to every request, and the number of requests to a server that
/// keeps failing.
struct StatusTable: Trial {
    var kind = RemoteKind.filesection

    var name: String { "R11" + kind.suffix }
    let title = "every status on every request"
    let bar = "each reply is classified right; at most 30 requests a minute while the server fails"

    private typealias Fault = FaultServer.Fault

    /// The timeout for the expected sidecar, which only a wrong sidecar reaches.
    private let patience = Duration.seconds(90)

    func run(_ context: TrialContext) async throws -> Outcome {
        let cases = cases(context)
        let lanes = 4
        var findings = Findings()
        let complaints = try await withThrowingTaskGroup(of: [String].self) { group in
            for lane in 0..<lanes {
                let own = cases.enumerated().filter { $0.offset % lanes == lane }.map(\.element)
                group.addTask { try await judge(own, context) }
            }
            return try await group.reduce(into: [String]()) { $0 += $1 }
        }
        for complaint in complaints { findings.expect(false, complaint) }
        let hotLoops = HotLoops(kind: kind, context: context)
        let most = try await hotLoops.failing(&findings)
        let ofOne = try await hotLoops.failingForOneUpload(&findings)
        try await hotLoops.asksForPatience(&findings)
        return findings.outcome(
            "\(cases.count) replies judged right; at most \(most) requests while failing, \(ofOne) while one upload fails"
        )
    }

    private func cases(_ context: TrialContext) -> [FaultyReply] {
        var random = context.random
        let requests = kind.requests
        var cases: [FaultyReply] = []
        func add(_ fault: Fault, _ request: String) {
            guard let expected = kind.replyClass(of: fault, to: request) else { return }
            cases.append(FaultyReply(kind: kind, request: request, fault: fault, expected: expected))
        }
        for status in 400...599 {
            // In short runs, each status is the answer to one kind of request. The statuses in this list are the
            // answer to all kinds.
            let named = [401, 403, 404, 405, 407, 408, 409, 410, 412, 423, 425, 429, 460, 501, 505, 507, 511]
                .contains(status)
            let one = requests[Int.random(in: 0..<requests.count, using: &random)]
            if context.size == .quick && !named && Int.random(in: 0..<6, using: &random) != 0 { continue }
            for request in context.size == .long || named ? requests : [one] { add(.status(status), request) }
        }
        for fault in kind.oddFaults { for request in requests { add(fault, request) } }
        cases.shuffle(using: &random)
        // The other protocols have more requests and larger files: in a quick run, two of each class for each request.
        guard context.size == .quick, kind != .filesection else { return cases }
        var counts: [String: Int] = [:]
        return cases.filter { item in
            let group = "\(item.request) \(item.expected)"
            counts[group, default: 0] += 1
            return counts[group, default: 0] <= 2
        }
    }

    private func judge(_ cases: [FaultyReply], _ context: TrialContext) async throws -> [String] {
        let server = try kind.server()
        let agent = try kind.agent(context, of: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        var judge = Judge()
        var complaints: [String] = []
        for (index, item) in cases.enumerated() {
            let name = "\(index).jpg"
            let state = Shared(FaultyReply.Progress(item: item))
            server.setFaults { request in state.withLock { $0.fault(for: request) } }
            let key = try agent.drop(name, .jpeg, size: item.smallestSize + index, seed: context.seed)
            if item.expected != .permanent { judge.stands(key, at: name) }
            do {
                try await look(name, item, state, agent: agent)
                server.setFaults { _ in nil }
                if item.expected != .permanent { try await agent.reached(name, .done, timeout: patience) }
                server.archive(key)
            } catch {
                server.setFaults { _ in nil }
                complaints.append("\(item.fault) on \(item.request): \(error)")
            }
        }
        try await agent.outcomes(judge, timeout: context.patience)
        return complaints + (try judge.verdict(stored: server.stored) { try agent.sidecar($0) }).details
    }

    /// Waits until the sidecar shows the expected state.
    private func look(
        _ name: String, _ item: FaultyReply, _ state: Shared<FaultyReply.Progress>, agent: Agent
    ) async throws {
        switch item.expected {
        case .temporary:
            let sidecar = try await agent.reached(name, .waiting, timeout: patience) { sidecar in
                // The failure that leads to the request shows first.
                !item.needsInterruption || sidecar.error?.message.hasPrefix(item.request) == true
            }
            guard sidecar.error?.retryable == true else { throw Surprise("not retryable: \(sidecar.brief)") }
        case .signedOut: try await agent.reached(name, .signedOut, timeout: patience)
        case .permanent:
            let sidecar = try await agent.reached(name, .failed, timeout: patience)
            guard sidecar.error?.retryable == false else { throw Surprise("retryable: \(sidecar.brief)") }
        case .forgotten:
            try await agent.reached(name, .done, timeout: patience)
            let registrations = state.value.counts[kind.registration] ?? 0
            guard registrations > 1 else { throw Surprise("the upload did not begin anew") }
        case .harmless: try await agent.reached(name, .done, timeout: patience)
        }
        guard state.value.delivered > 0 else { throw Surprise("the agent never sent this request") }
    }
}

/// A fault as the reply to one kind of request.
struct FaultyReply: Sendable {
    let kind: RemoteKind
    let request: String
    let fault: FaultServer.Fault
    let expected: ReplyClass

    /// Whether the agent sends the request only after another one failed.
    var needsInterruption: Bool { kind == .tus && request == "HEAD" }

    /// The size of a file whose upload needs the request.
    var smallestSize: Int {
        // A store need not be asked for smaller contents.
        if kind != .s3 { return 2000 }
        return ["HEAD", "PutObject"].contains(request) ? 300_000 : 5_300_000
    }

    /// What happened to the upload so far.
    struct Progress {
        let item: FaultyReply
        private(set) var counts: [String: Int] = [:]
        /// How often the fault occurred.
        private(set) var delivered = 0

        init(item: FaultyReply) { self.item = item }

        /// Returns the fault of the next request. A forgotten upload begins anew and gets the next answer; all other
        /// faults persist until the trial has seen the sidecar.
        mutating func fault(for request: String) -> FaultServer.Fault? {
            counts[request, default: 0] += 1
            if item.needsInterruption, request == "PATCH", counts["PATCH"] == 1 { return .status(409) }
            guard request == item.request, item.expected != .forgotten || delivered == 0 else { return nil }
            delivered += 1
            return item.fault
        }
    }
}
