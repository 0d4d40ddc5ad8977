import EndToEndSupport
import TestSupport

/// R11: every status from 400 to 599 as the answer to every request, and the number of requests to a server that
/// keeps failing.
struct StatusTable: Trial {
    let name = "R11"
    let title = "every status on every request"
    let bar = "each reply is classified right; at most 30 requests a minute while the server fails"

    private typealias Endpoint = FaultServer.Endpoint
    private typealias Fault = FaultServer.Fault

    /// The timeout for the expected sidecar, which only a wrong sidecar reaches.
    private let patience = Duration.seconds(90)

    private enum Kind { case temporary, signedOut, forgotten, permanent }

    private struct Case: Sendable {
        let endpoint: Endpoint
        let fault: Fault
        let kind: Kind
    }

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
        let most = try await failing(context, &findings)
        return findings.outcome("\(cases.count) replies judged right; at most \(most) requests while failing")
    }

    /// Returns the class of a reply, by contract 4.
    private func kind(_ status: Int, on endpoint: Endpoint) -> Kind {
        switch status {
        case 401, 403: .signedOut
        case 404, 410: endpoint == .preLoad ? .temporary : .forgotten
        case 405: endpoint == .preLoad ? .temporary : .permanent
        case 407, 408, 425, 429, 511: .temporary
        case 501, 505: .permanent
        case 500...: .temporary
        default: .permanent
        }
    }

    private func cases(_ context: TrialContext) -> [Case] {
        var random = context.random
        let endpoints: [Endpoint] = [.preLoad, .upload, .isFinish]
        var cases: [Case] = []
        for status in 400...599 {
            // In short runs, each status is the answer to one kind of request. The statuses in this list are the
            // answer to all kinds.
            let named = [401, 403, 404, 405, 407, 408, 410, 425, 429, 501, 505, 507, 511].contains(status)
            let chosen = context.size == .long || named ? endpoints : [endpoints[Int.random(in: 0..<3, using: &random)]]
            if context.size == .quick && !named && Int.random(in: 0..<6, using: &random) != 0 { continue }
            cases += chosen.map { Case(endpoint: $0, fault: .status(status), kind: kind(status, on: $0)) }
        }
        let odd: [Fault] = [
            .garbage, .html, .tooLong, .truncated, .reset, .redirect("http://127.0.0.1:9/"), .bodyCode(503),
            .status(503, retryAfter: "1"),
        ]
        for fault in odd { cases += endpoints.map { Case(endpoint: $0, fault: fault, kind: .temporary) } }
        return cases.shuffled(using: &random)
    }

    private func judge(_ cases: [Case], _ context: TrialContext) async throws -> [String] {
        let server = try FaultServer()
        let agent = try context.agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        var judge = Judge()
        var complaints: [String] = []
        for (index, item) in cases.enumerated() {
            let name = "\(index).jpg"
            let what = "\(item.fault) on \(item.endpoint)"
            // A forgotten upload starts over and gets the next answer; the other cases fail until the trial checked
            // the sidecar.
            let first = server.count(item.endpoint) + 1
            let once = item.kind == .forgotten
            let endpoint = item.endpoint
            let fault = item.fault
            server.setFaults { $0 == endpoint && (!once || $1 == first) ? fault : nil }
            let key = try agent.drop(name, .jpeg, size: 2000 + index, seed: context.seed)
            do {
                try await look(name, item, agent: agent)
                server.setFaults { _, _ in nil }
                if item.kind == .permanent { continue }
                judge.stands(key, at: name)
                try await agent.reached(name, .done, timeout: patience)
            } catch {
                server.setFaults { _, _ in nil }
                complaints.append("\(what): \(error)")
            }
        }
        try await agent.outcomes(judge, timeout: context.patience)
        return complaints + (try judge.verdict(stored: server.stored) { try agent.sidecar($0) }).details
    }

    /// Waits until the sidecar shows the expected state.
    private func look(_ name: String, _ item: Case, agent: Agent) async throws {
        switch item.kind {
        case .temporary:
            let sidecar = try await agent.reached(name, .waiting, timeout: patience)
            guard sidecar.error?.retryable == true else { throw Surprise("not retryable: \(sidecar.brief)") }
        case .signedOut: try await agent.reached(name, .signedOut, timeout: patience)
        case .permanent:
            let sidecar = try await agent.reached(name, .failed, timeout: patience)
            guard sidecar.error?.retryable == false else { throw Surprise("retryable: \(sidecar.brief)") }
        case .forgotten: try await agent.reached(name, .done, timeout: patience)
        }
    }

    /// Returns the highest number of requests within the window, over servers that fail all requests.
    private func failing(_ context: TrialContext, _ findings: inout Findings) async throws -> Int {
        let window = Duration.seconds(context.count(quick: 6, usual: 15, long: 60))
        let faults: [Fault] = [.status(503), .status(429), .status(401), .garbage, .reset, .status(404)]
        let counts = try await withThrowingTaskGroup(of: (String, Int).self) { group in
            for fault in faults {
                group.addTask {
                    let server = try FaultServer { _, _ in fault }
                    let agent = try context.agent(remote: server.url, ["upload.retry_interval": "2m"])
                    try await agent.start()
                    for index in 0..<30 { try agent.drop("\(index).jpg", .jpeg, size: 700_000) }
                    do {
                        try await Poll.until("a first request") { server.records.count > 0 }
                    } catch is Poll.TimedOut {}
                    try await Task.sleep(for: window)
                    return ("\(fault)", server.records.count)
                }
            }
            return try await group.reduce(into: [(String, Int)]()) { $0.append($1) }
        }
        for (fault, count) in counts {
            findings.expect(count <= 30, "\(count) requests in \(window) while every answer was \(fault)")
            findings.expect(count > 0, "no request at all while every answer was \(fault)")
        }
        return counts.map(\.1).max() ?? 0
    }
}
