import EndToEndSupport
import Foundation
import TestSupport

/// R24: kills the agent at every step of a profile picture's life, while newer pictures arrive.
struct PortraitKills: Trial {
    let name = "R24"
    let title = "agent killed during portraits"
    let bar = "after each kill a complete picture is shown, never an older one; the server's last picture is the newest"

    private typealias Rule = FaultBoard.Rule

    /// The calls at which the agent is killed; the number of the call is random.
    private let steps: [(functions: [String], pattern: String)] = [
        (["fsync", "fdatasync"], "*/state/portrait*"), (["create"], "*/state/portrait*"),
        (["rename"], "*/state/portrait*"), (["rename"], "*profile.json"), (["rename"], "*current.jpg"),
        (["curl_multi_add_handle"], "*/portrait.do"), (["curl_multi_info_read"], "*/portrait.do"),
        (["mdb_txn_commit"], "*"),
    ]

    func run(_ context: TrialContext) async throws -> Outcome {
        let kills = context.count(quick: 6, usual: 40, long: 200)
        var random = context.random
        let receiver = try await context.receiver()
        let agent = try context.agent(remote: receiver.url)
        let usual = agent.environment
        let board = try FaultBoard(in: context.place)
        var findings = Findings()
        var stage = Stage(agent: agent, receiver: receiver)

        try await agent.start()
        try stage.drop()
        if let reason = try await stage.whyNoPortraits() { return .skipped(reason) }
        try await agent.stop()
        for kill in 1...kills {
            let step = steps.randomElement(using: &random)
            // Two of three kills happen at a step, the others at a random moment.
            if let step, kill % 3 != 0 {
                let call = Int.random(in: 1...6, using: &random)
                let action: Rule.Action = Bool.random(using: &random) ? .killBefore : .killAfter
                let rule = Rule(action, step.functions, calls: call...call, of: step.pattern)
                agent.environment = usual.merging(board.environment([rule])) { $1 }
            } else {
                agent.environment = usual
            }
            if Bool.random(using: &random) { try stage.drop() }
            try agent.launch()
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                try await Task.sleep(for: .milliseconds(Int.random(in: 15...400, using: &random)))
                try stage.drop()
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...700, using: &random)))
            try await agent.kill()
            stage.look(&findings, "after kill \(kill)")
        }
        agent.environment = usual
        try await agent.start()
        try await agent.reached(stage.name(stage.newest), .done, timeout: context.patience)
        try await stage.lookAtTheEnd(&findings, patience: context.patience)
        try await agent.stop()
        return findings.outcome(
            "\(kills) kills, \(stage.newest) pictures: \(stage.confirmed) confirmed, the newest last; "
                + "\(stage.looks) looks at what was shown")
    }

    /// The dropped pictures and their states.
    private struct Stage {
        let agent: Agent
        let receiver: Receiver
        private(set) var newest = 0
        private(set) var shown = 0
        private(set) var looks = 0
        private(set) var confirmed = 0
        private var profile = 0

        init(agent: Agent, receiver: Receiver) {
            self.agent = agent
            self.receiver = receiver
        }

        func name(_ number: Int) -> String { "portrait/\(number).png" }

        private var portrait: String { agent.state + "/portrait" }
        private var avatars: String { agent.directory.path("avatars") }

        mutating func drop() throws {
            newest += 1
            try agent.drop(name(newest), NumberedPicture(newest).png)
        }

        /// Returns the reason why this machine cannot make a portrait of the first picture, or nil.
        func whyNoPortraits() async throws -> String? {
            let sidecar = try await agent.reached(name(1), .done, .waiting) { sidecar in
                sidecar.state == .done || sidecar.error?.code == "no_picture_worker"
            }
            return sidecar.state == .done ? nil : sidecar.error?.message ?? "no picture worker"
        }

        private func picture(_ path: String) -> NumberedPicture? {
            Files.read(Array(path.utf8)).flatMap(NumberedPicture.init(jpeg:))
        }

        /// Checks the shown picture: complete, and not older than any picture shown before.
        mutating func look(_ findings: inout Findings, _ when: String) {
            looks += 1
            let current = picture(avatars + "/current.jpg")?.number
            findings.expect(
                current.map { $0 >= shown } ?? (shown == 0), "\(when) \(current ?? 0) is shown, not \(shown)")
            findings.expect((current ?? 0) <= newest, "\(when) \(current ?? 0) of \(newest) is shown")
            shown = max(shown, current ?? 0)
            if let pending = FileManager.default.contents(atPath: portrait + "/pending.jpg") {
                let isWhole = NumberedPicture(jpeg: Array(pending)) != nil
                findings.expect(isWhole, "\(when) the pending picture is not whole")
            }
            lookAtProfile(&findings, when)
        }

        private mutating func lookAtProfile(_ findings: inout Findings, _ when: String) {
            guard let data = FileManager.default.contents(atPath: agent.state + "/profile.json") else { return }
            let json = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
            guard let url = json?["portraitURL"] as? String, let number = portraitOnServer(url)?.number else {
                return findings.expect(false, "\(when) profile.json is torn, or names no picture")
            }
            findings.expect(number >= profile, "\(when) \(number) is confirmed, after \(profile)")
            profile = max(profile, number)
        }

        /// Returns the picture that the server stores under one of its URLs.
        private func portraitOnServer(_ url: String) -> NumberedPicture? {
            let file = url.split(separator: "/").last?.prefix { $0 != "!" } ?? ""
            return picture("\(receiver.root)/portraits/\(file)")
        }

        mutating func lookAtTheEnd(_ findings: inout Findings, patience: Duration) async throws {
            for number in 1...newest {
                let sidecar = try await agent.reached(name(number), .done, .cancelled, timeout: patience)
                if sidecar.state == .done {
                    confirmed += 1
                } else {
                    findings.expect(sidecar.error?.code == "superseded", "\(number) \(sidecar.brief)")
                }
            }
            look(&findings, "at the end")
            findings.expect(
                shown == newest && profile == newest, "\(shown) is shown, \(profile) confirmed, of \(newest)")
            findings.expect(lastOnServer == newest, "the server took \(lastOnServer) last, of \(newest)")
            // The agent removes files independently of the sidecars, at no guaranteed time.
            let portrait = portrait
            var left: [String] = []
            do {
                try await Poll.until("nothing to be left behind") {
                    left = Files.tree(portrait).filter { $0 != "newest.json" }
                    return left.isEmpty
                }
            } catch is Poll.TimedOut {}
            findings.expect(left.isEmpty, "left behind: \(left)")
        }

        /// The number of the picture that the server received last.
        private var lastOnServer: Int {
            let directory = receiver.root + "/portraits"
            let files = Files.regularFiles(directory).map { name in
                let attributes = try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
                return (name: name, date: attributes?[.modificationDate] as? Date ?? .distantPast)
            }
            let last = files.max { $0.date < $1.date }?.name
            return last.flatMap { picture("\(directory)/\($0)") }?.number ?? 0
        }
    }
}
