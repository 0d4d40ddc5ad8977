import EndToEndSupport
import TestSupport

/// R12: credentials expire repeatedly during uploads; new ones arrive a moment later.
struct ExpiringCredentials: Trial {
    var kind = RemoteKind.filesection

    var name: String { "R12" + kind.suffix }
    let title = "credentials that expire"
    let bar = "no finished fragment is sent again; all files are uploaded"

    func run(_ context: TrialContext) async throws -> Outcome {
        let files = context.count(quick: 15, usual: 50, long: 500)
        let lifetime = Duration.milliseconds(context.count(quick: 600, usual: 1000, long: 30_000))
        var random = context.random
        // The first credential allows only a few requests with content, so it expires in the middle of uploads at any
        // speed.
        let left = Shared(5)
        let sending = kind.sendingRequests
        let expiry = kind.expiry
        let server = try kind.server(delay: .milliseconds(25)) { request in
            left.withLock { left -> FaultServer.Fault? in
                guard left > 0 else { return expiry }
                if sending.contains(request) { left -= 1 }
                return nil
            }
        }
        server.require(credential: "credential-0")
        let credentials = "\(context.place)/credentials"
        let agent = try kind.agent(
            context, of: server.url,
            [
                kind.credentialsSetting: .string(credentials), "upload.files_in_flight": 3,
                "upload.fragments_in_flight": 2,
            ].merging(kind.shortRequests) { $1 })
        try kind.put(credential: "credential-0", in: credentials)
        try await agent.start()
        var judge = Judge()
        var findings = Findings()
        for index in 0..<files {
            let name = "\(index).jpg"
            // Every other file takes several requests.
            let size = Int.random(
                in: index % 2 == 0
                    ? 100_000...kind.severalFragments : kind.severalFragments...kind.severalFragments * 2,
                using: &random)
            judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
        }
        try await Poll.until("a sidecar that says signed_out", lastState: { agent.log }) {
            try judge.paths.contains { try agent.sidecar($0)?.state == .signedOut }
        }
        var expired = 1
        var signedOut = 1
        server.require(credential: "credential-1")
        left.withLock { $0 = .max }
        try kind.put(credential: "credential-1", in: credentials)
        let deadline = ContinuousClock.now + context.patience
        while try !judge.unfinished(among: judge.paths, sidecar: { try agent.sidecar($0) }).isEmpty {
            guard ContinuousClock.now < deadline else { break }
            try await Task.sleep(for: lifetime)
            // No credential expires unused; otherwise an agent on a slow machine would make no progress.
            guard server.hasServed(credential: "credential-\(expired)") else { continue }
            expired += 1
            server.require(credential: "credential-\(expired)")
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...300, using: &random)))
            for name in judge.paths where try agent.sidecar(name)?.state == .signedOut {
                signedOut += 1
                break
            }
            try kind.put(credential: "credential-\(expired)", in: credentials)
        }
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        let again = server.repetitions.values.reduce(0, +)
        findings.add(verdict)
        try findings.expectAllDone(judge, agent)
        findings.expect(again <= kind.bytesOfTest, "\(again) bytes of finished fragments were sent again")
        return findings.outcome(
            "\(expired) times in \(files) uploads, seen as signed_out \(signedOut) times: \(verdict.summary); "
                + "\(again >> 19) fragments sent again")
    }
}

extension RemoteKind {
    /// What a server answers to a credential that has expired.
    fileprivate var expiry: FaultServer.Fault { self == .s3 ? .error(400, code: "ExpiredToken") : .status(401) }

    /// How many bytes the agent sends again on purpose: one small object, to learn whether a store overwrites objects.
    fileprivate var bytesOfTest: Int { self == .s3 ? 256 << 10 : 0 }

    /// Settings with which a credential expires between the requests of one upload.
    fileprivate var shortRequests: Settings { self == .tus ? ["remote.max_patch": "512KiB"] : [:] }
}
