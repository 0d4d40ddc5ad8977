import EndToEndSupport
import TestSupport

/// R34: the server, or a proxy before it, refuses one content among many, with every status.
struct RefusedBodies: Trial {
    var kind = RemoteKind.filesection

    var name: String { "R34" + kind.suffix }
    let title = "one refused body among many"
    let bar = "the others are done within 5 s; one problem, which names the setting of a proxy's limit"
    /// Measures time.
    let company = Company.inQuickRuns

    private static let others = 6

    private struct Case: CustomStringConvertible {
        var request: String
        var fault: FaultServer.Fault
        var description: String { "\(fault) on \(request)" }
    }

    func run(_ context: TrialContext) async throws -> Outcome {
        var findings = Findings()
        var slowest = Duration.zero
        let cases = cases(context)
        for (index, item) in cases.enumerated() {
            do {
                slowest = max(slowest, try await refuse(item, number: index, context, &findings))
            } catch {
                findings.expect(false, "\(item): \(error)")
            }
        }
        return findings.outcome("\(cases.count) refusals; the slowest of \(Self.others) others done after \(slowest)")
    }

    private func cases(_ context: TrialContext) -> [Case] {
        var random = context.random
        var cases: [Case] = []
        for status in 400...599 {
            for fault in [FaultServer.Fault.status(status), .page(status)] {
                let requests = kind.sendingRequests.sorted() + (kind == .filesection ? ["preLoad", "isFinish"] : [])
                for request in requests where !concernsAll(fault, request) {
                    cases.append(Case(request: request, fault: fault))
                }
            }
        }
        let named = cases.filter { [.page(403), .page(413), .status(507)].contains($0.fault) }
        let count = context.count(quick: 2, usual: 30, long: cases.count)
        return Array(
            named.prefix(context.size == .quick ? 2 : named.count) + cases.shuffled(using: &random).prefix(count))
    }

    /// Whether a refusal is about the credentials, or asks for fewer requests in the answer to a batch, so that all files
    /// must wait.
    private func concernsAll(_ fault: FaultServer.Fault, _ request: String) -> Bool {
        switch fault {
        case .status(401, _): true
        case .status(403, _): kind == .filesection
        case .status(let status, _), .page(let status):
            [408, 425, 429].contains(status) && !kind.sendingRequests.contains(request)
        default: false
        }
    }

    /// - Returns: how long the other files took.
    private func refuse(
        _ item: Case, number: Int, _ context: TrialContext, _ findings: inout Findings
    ) async throws -> Duration {
        let server = try kind.server()
        let agent = try kind.agent(context, of: server.url)
        try await agent.start()
        let isPart = item.request == "UploadPart"
        let bytes = SampleMedia.jpeg.bytes(size: isPart ? kind.severalFragments : 700_000, seed: context.seed)
        let bad = Digest.md5(bytes)
        server.refuse(Refusal(of: bad, at: item.request, item.fault))
        let start = ContinuousClock.now
        try agent.drop("bad.jpg", bytes)
        for index in 0..<Self.others { try agent.drop("\(index).jpg", .jpeg, size: 100_000 + index) }
        for index in 0..<Self.others { try await agent.reached("\(index).jpg", .done, timeout: .seconds(60)) }
        let took = ContinuousClock.now - start
        let most = context.atMost(.seconds(5))
        findings.expect(took <= most, "\(item): the other files took \(took)")
        findings.expect(try agent.sidecar("bad.jpg")?.state != .signedOut, "\(item): signed out")
        if item.fault == .page(413), kind.sendingRequests.contains(item.request) {
            try await Poll.until("the refused file among the problems", lastState: { "\(agent.problems)" }) {
                agent.problems["refused"]?.contains("client_max_body_size") == true
            }
        }
        findings.expect(agent.problems.count <= 1, "\(item): \(agent.problems)")
        server.refuse(nil)
        try await agent.stop()
        return took
    }
}
