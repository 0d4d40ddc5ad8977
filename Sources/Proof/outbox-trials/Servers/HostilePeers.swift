import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// R35: strangers, a registered user and guests with a link against the receiver.
struct HostilePeers: Trial {
    let name = "R35"
    let title = "hostile peers of the receiver"
    let bar = "the owner's small request takes 1 s at most; 384 MiB; the space of the others stays theirs"
    let company = Company.inQuickRuns

    /// One way of harming, and the connections that go that way.
    private struct Attack {
        let name: String
        let manners: [Flood.Manner]

        init(name: String, manners: [Flood.Manner]) { (self.name, self.manners) = (name, manners) }

        init(name: String, manner: Flood.Manner) { self.init(name: name, manners: [manner]) }
    }

    private static let quota = 1 << 20

    func run(_ context: TrialContext) async throws -> Outcome {
        try raiseDescriptorLimit()
        let receiver = try Receiver(in: context.place)
        let tokens = receiver.directory.path("tokens")
        try Files.write(
            Array(
                "owner-token owner\nmallory-token mallory quota=1MiB\neve-token eve\ntrudy-token trudy quota=1MiB\n"
                    .utf8), to: tokens)
        let count = context.count(quick: 50, usual: 900, long: 900)
        // Two users together take all seats of their address, if they can.
        let seats = count + 100
        receiver.options = [
            "--token-file", tokens, "--max-connections-per-address", "\(seats)", "--log-level", "error",
        ]
        try await receiver.start()
        var findings = Findings()
        let owner = Peer(port: receiver.port, token: "owner-token")
        let film = SampleMedia.jpeg.bytes(size: 16 << 20, seed: context.seed)
        let shared = owner.upload(film, path: "film.jpg")
        guard let link = shared.url else { throw Surprise("the owner could not upload: \(shared.status)") }

        // A quick run has other trials beside it, on programs that are not optimised.
        let limit = context.size == .quick ? Duration.seconds(10) : .seconds(1)
        var slowest = Duration.zero
        for attack in Self.attacks(on: receiver.port, link: link) {
            let before = receiver.program?.peakResidentBytes ?? 0
            let size = attack.manners.count == 1 ? count : seats / attack.manners.count
            let floods = attack.manners.map { Flood(size, to: receiver.port, $0) }
            let end = ContinuousClock.now + .seconds(context.count(quick: 2, usual: 10, long: 120))
            while ContinuousClock.now < end {
                let begun = ContinuousClock.now
                let reply = owner.exchange("/fileSection/isFinish.do", body: Array(#"{"fileIds":[]}"#.utf8))
                let took = ContinuousClock.now - begun
                slowest = max(slowest, took)
                findings.expect(reply?.status == 200, "\(attack.name): the owner got \(reply?.status ?? 0)")
                findings.expect(
                    took < limit, "\(attack.name): the owner's small request took \(took)")
                try await Task.sleep(for: .milliseconds(100))
            }
            for flood in floods { try await flood.end() }
            let peak = receiver.program?.peakResidentBytes ?? 0
            findings.expect(
                peak < 384 << 20, "\(attack.name): \(peak >> 20) MiB of memory, \(before >> 20) MiB before")
        }
        let tiny = tinyFiles(Peer(port: receiver.port, token: "trudy-token"), context, &findings)
        findings.expect(tiny > 0, "no file of trudy fits into a quota of 1 MiB")
        let taken = try Self.taken(receiver.root, without: film.count)
        findings.expect(
            taken < 2 * Self.quota + 48 << 20, "\(taken >> 20) MiB are taken by two users with a quota of 1 MiB")
        let last = owner.upload(SampleMedia.jpeg.bytes(size: 3 << 20, seed: context.seed &+ 1), path: "last.jpg")
        findings.expect(last.status == 200 && last.url != nil, "the owner's file after all: \(last.status)")
        let peak = receiver.program?.peakResidentBytes ?? 0
        receiver.program?.kill(SIGTERM)
        let ending = try await receiver.program?.wait(timeout: context.atMost(.seconds(5)))
        findings.expect(ending == .exited(0), "SIGTERM: \(String(describing: ending))")
        return findings.outcome(
            "\(count) connections a way, the owner's small request at most \(Int(slowest / .milliseconds(1))) ms, "
                + "\(peak >> 20) MiB, \(tiny) tiny files of trudy, \(taken >> 10) KiB taken")
    }

    private static func attacks(on port: Int, link: String) -> [Attack] {
        let stranger = Peer(port: port)
        let mallory = Peer(port: port, token: "mallory-token")
        let eve = Peer(port: port, token: "eve-token")
        func many(_ request: [UInt8]) -> [UInt8] { Array(repeatElement(request, count: 200).joined()) }
        let ids = (0..<50).map { number in
            let path = String(repeating: "n", count: 4000) + "/\(number)"
            return #"{"fileName":"a","totalSize":1,"md5":"\#(Digest.md5([UInt8(number)]))","path":"\#(path)"}"#
        }
        // Faster than the kernel can queue connections, any peer holds up all others.
        let second: UInt32 = 1_000_000
        let preLoad = mallory.request(
            "/fileSection/preLoad.do", body: Array(#"{"files":[\#(ids.joined(separator: ","))]}"#.utf8))
        return [
            Attack(name: "pipelining", manner: .init(bytes: many(stranger.request("/health")))),
            Attack(
                name: "pipelining without a token",
                manner: .init(bytes: many(stranger.request("/fileSection/isFinish.do", body: [1, 2])))),
            Attack(
                name: "pipelining with a token",
                manner: .init(
                    bytes: many(mallory.request("/fileSection/isFinish.do", body: Array(#"{"fileIds":[]}"#.utf8))))),
            Attack(
                name: "trickling heads",
                manner: .init(
                    bytes: stranger.request("/" + String(repeating: "a", count: 8000)), sends: 1, pause: 100_000)),
            Attack(
                name: "trickling bodies",
                manner: .init(
                    bytes: mallory.request("/fileSection/isFinish.do", body: [UInt8](repeating: 32, count: 100_000)),
                    sends: 400, pause: 100_000)),
            Attack(
                name: "slow downloads",
                manner: .init(bytes: stranger.request(link), repeats: false, reads: 100, pause: 100_000)),
            Attack(
                name: "bodies that break off",
                manner: .init(
                    bytes: Array(
                        mallory.request("/fileSection/preLoad.do", body: [UInt8](repeating: 32, count: 1_000_000))
                            .prefix(200_000)), repeats: false, leaves: true, sends: 1 << 20, pause: second)),
            Attack(
                name: "heads that break off",
                manner: .init(bytes: stranger.request(link).dropLast(2), repeats: false, leaves: true, pause: second)),
            Attack(
                name: "downloads that break off",
                manner: .init(bytes: stranger.request(link), repeats: false, leaves: true, pause: second)),
            Attack(
                name: "two users with trickling bodies",
                manners: [mallory, eve].map {
                    let body = [UInt8](repeating: 32, count: 100_000)
                    return .init(
                        bytes: $0.request("/fileSection/isFinish.do", body: body), sends: 400, pause: 100_000)
                }),
            Attack(
                name: "two users with bodies full of escapes",
                manners: [mallory, eve].map {
                    let body = #"{"fileIds":[""# + String(repeating: #"\u0041"#, count: 170_000) + #""]}"#
                    return .init(
                        bytes: $0.request("/fileSection/isFinish.do", body: Array(body.utf8)), reads: 1 << 16,
                        pause: 10_000)
                }),
            Attack(name: "many ids", manner: .init(bytes: preLoad, reads: 1 << 16, pause: 10_000)),
        ]
    }

    /// Uploads tiny files in directories of their own until the quota ends it.
    private func tinyFiles(_ user: Peer, _ context: TrialContext, _ findings: inout Findings) -> Int {
        var count = 0
        while count < 2000 {
            let content = Array("\(context.seed) \(count)".utf8)
            guard user.upload(content, path: "\(count)/\(count)/a.jpg").status == 200 else { break }
            count += 1
        }
        findings.expect(count < 1000, "\(count) files in directories of their own fit into a quota of 1 MiB")
        return count
    }

    /// Returns what the root takes on the disk beside the owner's film, in bytes.
    private static func taken(_ root: String, without film: Int) throws -> Int {
        let output = try FileManager.default.subpathsOfDirectory(atPath: root)
        var seen: Set<UInt> = []
        let blocks = output.reduce(into: 0) { sum, path in
            var status = stat()
            guard lstat("\(root)/\(path)", &status) == 0, seen.insert(UInt(status.st_ino)).inserted else { return }
            sum += Int(status.st_blocks)
        }
        // 256 directories of `objects/` are there from the start.
        return blocks * 512 - film - 257 * 4096
    }

    private func raiseDescriptorLimit() throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = min(limit.rlim_max, 8192)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_cur > 1200 else { throw Surprise("only \(limit.rlim_cur) descriptors") }
    }
}
