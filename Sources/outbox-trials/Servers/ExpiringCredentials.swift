import EndToEndSupport
import Glibc
import TestSupport

/// R12: credentials expire repeatedly during uploads; new ones arrive a moment later.
struct ExpiringCredentials: Trial {
    let name = "R12"
    let title = "credentials that expire"
    let bar = "no finished fragment is sent again; all files are uploaded"

    func run(_ context: TrialContext) async throws -> Outcome {
        let files = context.count(quick: 15, usual: 50, long: 500)
        let lifetime = Duration.milliseconds(context.count(quick: 600, usual: 1000, long: 30_000))
        var random = context.random
        // The first token allows only a few fragments, so it expires in the middle of uploads at any speed.
        let fragmentsLeft = Shared(5)
        let server = try FaultServer(uploadDelay: .milliseconds(25), token: "token-0") { endpoint, _ in
            fragmentsLeft.withLock { left -> FaultServer.Fault? in
                guard left > 0 else { return .status(401) }
                if endpoint == .upload { left -= 1 }
                return nil
            }
        }
        let tokenFile = "\(context.place)/token"
        let agent = try context.agent(
            remote: server.url,
            [
                "remote.token_file": .string(tokenFile), "upload.files_in_flight": 3,
                "upload.fragments_in_flight": 2,
            ])
        try put("token-0", in: tokenFile)
        try await agent.start()
        var judge = Judge()
        var findings = Findings()
        for index in 0..<files {
            let name = "\(index).jpg"
            let size = Int.random(in: 100_000...3_000_000, using: &random)
            judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
        }
        try await Poll.until("a sidecar that says signed_out", lastState: { agent.log }) {
            try judge.paths.contains { try agent.sidecar($0)?.state == .signedOut }
        }
        var expired = 1
        var signedOut = 1
        server.require(token: "token-1")
        fragmentsLeft.withLock { $0 = .max }
        try put("token-1", in: tokenFile)
        let deadline = ContinuousClock.now + context.patience
        while try !judge.unfinished(among: judge.paths, sidecar: { try agent.sidecar($0) }).isEmpty {
            guard ContinuousClock.now < deadline else { break }
            try await Task.sleep(for: lifetime)
            // No token expires unused; otherwise an agent on a slow machine would make no progress.
            guard server.requests(with: "token-\(expired)").contains(where: { $0.fault == nil }) else { continue }
            expired += 1
            server.require(token: "token-\(expired)")
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...300, using: &random)))
            for name in judge.paths where try agent.sidecar(name)?.state == .signedOut {
                signedOut += 1
                break
            }
            try put("token-\(expired)", in: tokenFile)
        }
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        findings.expect(server.store.repeated == 0, "\(server.store.repeated) finished fragments were sent again")
        return findings.outcome(
            "\(expired) times in \(files) uploads, seen as signed_out \(signedOut) times: \(verdict.summary); "
                + "\(server.store.repeated) fragments sent again")
    }

    /// Replaces the file atomically, like a program that renews tokens.
    private func put(_ token: String, in path: String) throws {
        try Files.write(Array("\(token)\n".utf8), to: path + ".new")
        chmod(path + ".new", 0o600)
        try Files.rename(path + ".new", to: path)
    }
}
