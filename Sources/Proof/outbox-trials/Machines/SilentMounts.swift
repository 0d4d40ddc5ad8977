import EndToEndSupport
import Foundation
import TestSupport

/// R33: a file system below the outbox stops answering or dies, and comes back.
struct SilentMounts: Trial {
    let name = "R33"
    let title = "a mount below the outbox hangs, dies, comes back; the file being read hangs"
    let bar =
        "the rest goes on within 1 s, the mount is named within 15 s, all done once it is back, nothing written instead"
    let company = Company.inQuickRuns

    /// What happens to the mount.
    private enum Fault: CaseIterable {
        case hangs
        /// Only the reads of one file hang.
        case hangsInOneFile
        case dies

        var rule: FaultBoard.Rule {
            switch self {
            case .hangs: .init(.hang, ["open", "stat", "read"], calls: 1...1_000_000_000, of: "*/outbox/card*")
            case .hangsInOneFile: .init(.hang, ["read"], calls: 1...1_000_000_000, of: "*/outbox/card/*-slow.jpg")
            case .dies:
                .init(.notConnected, ["open", "stat", "read"], calls: 1...1_000_000_000, of: "*/outbox/card*")
            }
        }
    }

    /// The longest times of all rounds.
    private struct Times {
        var others = Duration.zero
        var naming = Duration.zero
    }

    func run(_ context: TrialContext) async throws -> Outcome {
        guard await Self.isPermitted(in: context.place) else {
            return .skipped(
                "no user namespace in which a directory can be mounted (unshare --user --map-root-user --mount)")
        }
        let rounds = context.count(quick: 3, usual: 20, long: 200)
        let server = try FaultServer()
        let agent = try context.agent(remote: server.url, ["intake.rescan": "2s"])
        let keep = "\(context.place)/keep"
        for directory in [keep, agent.path("card")] { try Files.makeDirectory(directory) }
        let board = try FaultBoard(in: context.place)
        var findings = Findings()
        var times = Times()
        for round in 0..<rounds {
            let fault = Fault.allCases[round % Fault.allCases.count]
            agent.launcher = Self.launcher(mounting: keep, at: agent.path("card"), board.environment([fault.rule]))
            do {
                try await play(
                    fault, round, isSilentAtStart: round % 2 == 1, agent, keep, board, &times, &findings, context)
            } catch {
                findings.expect(false, "round \(round), \(fault): \(error)")
            }
            board.failing = false
            if agent.program != nil { try await agent.kill() }
        }
        findings.expect(board.carriedOut > 0, "no call failed or hung")
        let milliseconds = { (time: Duration) in Int(time / .milliseconds(1)) }
        return findings.outcome(
            "\(rounds) times: the others done within \(milliseconds(times.others)) ms, the mount named within "
                + "\(milliseconds(times.naming)) ms, everything done after its return")
    }

    private func play(
        _ fault: Fault, _ round: Int, isSilentAtStart: Bool, _ agent: Agent, _ keep: String, _ board: FaultBoard,
        _ times: inout Times, _ findings: inout Findings, _ context: TrialContext
    ) async throws {
        board.failing = isSilentAtStart
        try await agent.start()
        board.failing = true
        let slow = "\(round)-slow.jpg"
        let seed = context.seed &+ UInt64(round)
        try Files.write(SampleMedia.jpeg.bytes(size: 300_000, seed: seed), to: "\(keep)/\(slow)")
        if fault == .hangsInOneFile {
            try Files.write(SampleMedia.jpeg.bytes(size: 3000, seed: seed), to: "\(keep)/\(round)-beside.jpg")
        }
        let begun = ContinuousClock.now
        for number in 0..<5 {
            _ = try agent.drop("\(round)-\(number).jpg", .jpeg, size: 3000)
            try await Task.sleep(for: .milliseconds(200))
            try await agent.reached("\(round)-\(number).jpg", .done)
        }
        // Each takes the settling time and its upload; one of them may come upon the silence.
        let others = ContinuousClock.now - begun - .milliseconds(5 * 500)
        times.others = max(times.others, others)
        findings.expect(others <= context.atMost(.seconds(1)), "round \(round): the others took \(others) too long")
        if fault == .dies {
            try await Self.inNamespace(of: agent, "umount -l '\(agent.path("card"))'")
            board.failing = false
            try await Task.sleep(for: .seconds(3))
            let left = Files.tree(agent.path("card")) + (agent.exists("card.outbox.json") ? ["card.outbox.json"] : [])
            findings.expect(left.isEmpty, "round \(round): written where the mount was: \(left)")
            try await Self.inNamespace(of: agent, "mount --bind '\(keep)' '\(agent.path("card"))'")
        } else {
            try await Poll.until("the mount to be named", timeout: context.patience) {
                let body = ControlSocket.get("/v1/health", socket: agent.socket)?.body ?? Data()
                return String(decoding: body, as: UTF8.self).contains("does not answer")
            }
            times.naming = max(times.naming, ContinuousClock.now - begun)
            findings.expect(
                times.naming <= context.atMost(.seconds(15)), "round \(round): named after \(times.naming)")
            if fault == .hangsInOneFile { try await Self.done("\(keep)/\(round)-beside.jpg", context) }
            board.failing = false
        }
        try await Self.done("\(keep)/\(slow)", context)
        try await agent.stop()
    }

    /// Waits for the final sidecar of a file on the mount.
    private static func done(_ path: String, _ context: TrialContext) async throws {
        let sidecar = {
            Files.read(Array("\(path).outbox.json".utf8)).map { String(decoding: $0, as: UTF8.self) } ?? "none"
        }
        try await Poll.until("\(path) to be done", timeout: context.patience, lastState: sidecar) {
            sidecar().contains("\"state\": \"done\"")
        }
    }

    /// The agent has the mount in a mount namespace of its own.
    private static func launcher(mounting source: String, at target: String, _ environment: [String: String])
        -> [String]
    {
        [
            "/usr/bin/unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c",
            "mount --bind \"$1\" \"$2\" && shift 2 && exec env \"$@\"", "sh", source, target,
        ] + environment.map { "\($0.key)=\($0.value)" }
    }

    private static func isPermitted(in place: String) async -> Bool {
        let words = Array(launcher(mounting: place, at: place, [:]) + ["/bin/true"])
        let output = try? await Program.run(
            words[0], Array(words.dropFirst()), environment: ["PATH": "/usr/bin:/bin"], directory: place)
        return output?.code == 0
    }

    private static func inNamespace(of agent: Agent, _ command: String) async throws {
        let process = "\(agent.program?.pid ?? 0)"
        let output = try await Program.run(
            "/usr/bin/nsenter",
            ["--target", process, "--user", "--mount", "--preserve-credentials", "/bin/sh", "-c", command],
            environment: ["PATH": "/usr/bin:/bin"], directory: "/")
        guard output.code == 0 else { throw Surprise("\(command): \(output)") }
    }
}
