import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// R31: kills the agent while a hook is told of outcomes: at random, at commits of the ledger, and within the call.
struct HookKills: Trial {
    var kind = RemoteKind.filesection

    var name: String { "R31" + kind.suffix }
    let title = "agent killed while a hook is told of outcomes"
    let bar = "every outcome is told at least once, in order, with one id; calls ≤ outcomes + kills"

    private typealias Rule = FaultBoard.Rule

    /// When the agent is killed.
    private enum Moment: CaseIterable {
        case random, beforeCommit, afterCommit, beforeReading, afterReading
    }

    /// Notes each call, then what it reads. Kills the agent, its parent, where a file asks for it.
    private static let script = """
        #!/bin/sh
        cd "$(dirname "$0")"
        echo call >> calls
        if rm before 2>/dev/null; then kill -9 $PPID; fi
        cat >> received
        if rm after 2>/dev/null; then kill -9 $PPID; fi
        exit 0

        """

    func run(_ context: TrialContext) async throws -> Outcome {
        let kills = context.count(quick: 10, usual: 50, long: 500)
        var random = context.random
        let server = try kind.server()
        let agent = try kind.agent(context, of: server.url)
        let usual = agent.environment
        let board = try FaultBoard(in: context.place)
        let stage = try Stage(agent, script: Self.script)
        var names: [String] = []
        var findings = Findings()
        var struck: [Moment: Int] = [:]

        for kill in 1...kills {
            let moment = Moment.allCases[kill % Moment.allCases.count]
            agent.environment = usual
            switch moment {
            case .random: break
            case .beforeCommit, .afterCommit:
                let call = Int.random(in: 1...12, using: &random)
                let rule = Rule(
                    moment == .beforeCommit ? .killBefore : .killAfter, ["mdb_txn_commit"], calls: call...call, of: "*")
                agent.environment = usual.merging(board.environment([rule])) { $1 }
            case .beforeReading: try stage.ask("before")
            case .afterReading: try stage.ask("after")
            }
            try agent.launch()
            for number in 0..<3 {
                names.append("\(kill)-\(number).jpg")
                let size = Int.random(in: 1000...50_000, using: &random)
                try agent.drop(names[names.count - 1], .jpeg, size: size, seed: random.next())
            }
            let patience: Duration =
                moment == .random ? .milliseconds(Int.random(in: 20...600, using: &random)) : .seconds(20)
            if try await agent.died(within: patience) { struck[moment, default: 0] += 1 }
            try await agent.kill()
            stage.forget()
        }
        agent.environment = usual
        try await agent.start()
        for name in names { try await agent.reached(name, .done, timeout: context.patience) }
        try await Poll.until("all outcomes to be told", timeout: context.patience) {
            try await agent.command("hooks").standardOutput.contains(" 0 waiting")
        }
        stage.judge(&findings, names: names, kills: kills)
        for moment in Moment.allCases where moment != .random {
            findings.expect(struck[moment, default: 0] > 0, "no kill happened: \(moment)")
        }
        return findings.outcome(
            "\(kills) kills, \(struck.values.reduce(0, +)) of them at a step; \(names.count) outcomes in "
                + "\(stage.calls) calls")
    }

    /// The hook's program and what it noted.
    private struct Stage {
        private let place: String

        init(_ agent: Agent, script: String) throws {
            place = agent.directory.path("hook")
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let program = place + "/hook.sh"
            try script.write(toFile: program, atomically: true, encoding: .utf8)
            chmod(program, 0o755)
            agent.appendix = "[[hook]]\nname = \"trial\"\non = [\"done\"]\nrun = [\"\(program)\"]\n"
            try agent.configure([:])
        }

        /// Asks the next call to kill the agent.
        func ask(_ moment: String) throws { try Data().write(to: URL(fileURLWithPath: "\(place)/\(moment)")) }

        func forget() { for moment in ["before", "after"] { unlink("\(place)/\(moment)") } }

        var calls: Int { lines("calls").count }

        private func lines(_ name: String) -> [Substring] {
            let text = FileManager.default.contents(atPath: "\(place)/\(name)") ?? Data()
            return String(decoding: text, as: UTF8.self).split(separator: "\n")
        }

        /// Checks what the hook was told.
        func judge(_ findings: inout Findings, names: [String], kills: Int) {
            var ids: [String: String] = [:]
            var last = ""
            for line in lines("received") {
                let outcome = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
                guard let id = outcome?["id"] as? String, let path = outcome?["path"] as? String else {
                    findings.expect(false, "the hook was told \(line)")
                    continue
                }
                findings.expect(ids[path, default: id] == id, "\(path) has the ids \(ids[path] ?? "") and \(id)")
                let isLater = id.compare(last, options: .numeric) != .orderedAscending
                findings.expect(isLater, "\(id) was told after \(last)")
                (ids[path], last) = (id, id)
            }
            for name in names { findings.expect(ids[name] != nil, "the hook was not told of \(name)") }
            findings.expect(calls <= names.count + kills, "\(calls) calls for \(names.count) outcomes")
        }
    }
}
