import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// R15: names of every kind.
struct OddNames: Trial {
    let name = "R15"
    let title = "names of every kind"
    let bar = "all files are uploaded; no header is injected; every sidecar maps back to its file"

    /// The expected header fields of requests; any other field was injected by a name.
    private static let headers: Set<String> = [
        "host", "user-agent", "accept", "accept-encoding", "authorization", "content-type", "content-length",
        "connection", "expect", "file_block", "transfer-encoding",
    ]

    func run(_ context: TrialContext) async throws -> Outcome {
        let count = context.count(quick: 300, usual: 1500, long: 5000)
        var maker = NameMaker(random: context.random)
        let server = try FaultServer()
        let agent = try context.agent(remote: server.url)
        try await agent.start()
        var findings = Findings()
        var files: [[UInt8]: String] = [:]
        var directory: [UInt8] = []
        for index in 0..<count {
            if index % 100 == 0 {
                // Half of the files are in the outbox itself, the others in directories with equally odd names.
                directory = index % 200 == 0 ? [] : maker.next()
                mkdir(Self.cString(agent.outbox, directory), 0o755)
            }
            let path = directory.isEmpty ? maker.next() : directory + [UInt8(ascii: "/")] + maker.next()
            let bytes = SampleMedia.jpeg.bytes(size: 200 + index, seed: context.seed &+ UInt64(index))
            try Files.write(bytes, to: Array("\(agent.outbox)/".utf8) + path)
            files[path] = Digest.md5(bytes)
        }

        var sidecars: [[UInt8]: Sidecar] = [:]
        do {
            try await Poll.until("outcomes", timeout: context.patience, every: .milliseconds(300)) {
                if let ending = agent.program?.ending { throw Surprise("the agent ended: \(ending)\n\(agent.log)") }
                guard server.finished.count >= count else { return false }
                sidecars = try Self.sidecars(below: Array(agent.outbox.utf8), &findings)
                return sidecars.count >= count && sidecars.values.allSatisfy(\.state.isFinal)
            }
        } catch is Poll.TimedOut {
            sidecars = try Self.sidecars(below: Array(agent.outbox.utf8), &findings)
        }
        for (path, key) in files {
            let sidecar = sidecars[path]
            let right = sidecar?.state == .done && sidecar?.key == key
            findings.expect(right, "\(Self.shown(path)): \(sidecar?.brief ?? "no sidecar maps back to it")")
        }
        judge(server, files, &findings)
        let odd = files.keys.filter { String(validating: $0, as: UTF8.self) == nil }.count
        return findings.outcome(
            "\(count) names, \(odd) not UTF-8: \(server.finished.count) uploaded, each sidecar maps back")
    }

    private func judge(_ server: FaultServer, _ files: [[UInt8]: String], _ findings: inout Findings) {
        let stored = server.stored
        findings.expect(
            stored.finished.sorted() == files.values.sorted(),
            "\(stored.finished.count) objects for \(files.count) files")
        for violation in stored.mixed + stored.violations { findings.expect(false, violation) }
        let strange = Set(server.records.flatMap(\.headerNames)).subtracting(Self.headers)
        findings.expect(strange.isEmpty, "header fields that no request has: \(strange.sorted())")
    }

    /// Returns all sidecars below a directory, by the path in the sidecar.
    private static func sidecars(below root: [UInt8], _ findings: inout Findings) throws -> [[UInt8]: Sidecar] {
        var found: [[UInt8]: Sidecar] = [:]
        // A directory that changes while it is listed may name a file twice (man 3 readdir).
        for path in Set(Files.names(below: root)) where path.suffix(12).elementsEqual(".outbox.json".utf8) {
            guard let bytes = Files.read(root + [UInt8(ascii: "/")] + path) else { continue }
            let sidecar = try JSONDecoder().decode(Sidecar.self, from: Data(bytes))
            let named =
                sidecar.path_bytes.flatMap { Data(base64Encoded: $0) }.map(Array.init) ?? Array(sidecar.path.utf8)
            let other = found.updateValue(sidecar, forKey: named)
            findings.expect(other == nil, "two sidecars for \(shown(named))")
            let directory = named.lastIndex(of: UInt8(ascii: "/")).map { named[...$0] } ?? []
            findings.expect(path.starts(with: directory), "the sidecar of \(shown(named)) is not beside it")
        }
        return found
    }

    private static func cString(_ outbox: String, _ path: [UInt8]) -> [CChar] {
        (Array("\(outbox)/".utf8) + path + [0]).map { CChar(bitPattern: $0) }
    }

    private static func shown(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self).debugDescription }
}
