import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// R9: files change while the agent hashes and uploads them, some with restored times, some through a mapping.
struct ChangingFiles: Trial {
    var kind = RemoteKind.filesection

    var name: String { "R9" + kind.suffix }
    let title = "files changed while hashed or uploaded"
    let bar = "0 mixtures; every visible change is uploaded"

    private enum Change: CaseIterable {
        case overwrite, overwriteSilently, mapSilently, append, replace

        /// Whether only the bytes show the change.
        var isSilent: Bool { self == .overwriteSilently || self == .mapSilently }
    }

    func run(_ context: TrialContext) async throws -> Outcome {
        let changes = context.count(quick: 60, usual: 250, long: 500)
        let slots = 6
        var random = context.random
        let server = try kind.server(delay: .milliseconds(kind == .filesection ? 15 : 30), takesGroups: true)
        let agent = try kind.agent(context, of: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        var judge = Judge()
        var findings = Findings()
        var contents: [[UInt8]] = Array(repeating: [], count: slots)
        var counts: [Change: Int] = [:]

        for index in 0..<changes {
            let slot = index % slots
            let name = "\(slot).mp4"
            let path = agent.path(name)
            var change = Change.allCases[Int.random(in: 0..<Change.allCases.count, using: &random)]
            // A finished file is no target, so most finished files first get a new content.
            if try contents[slot].isEmpty || (index % 3 != 0 && agent.sidecar(name)?.state == .done) {
                change = .replace
            }
            switch change {
            case .replace:
                let size = Int.random(in: 2_000_000...8_000_000, using: &random)
                contents[slot] = SampleMedia.mp4.bytes(size: size, seed: random.next())
                try replace(path, with: contents[slot], part: agent.path(".\(name).part"))
            case .append:
                let more = random.bytes(Int.random(in: 1...20_000, using: &random))
                try Files.patch(path, at: UInt64(contents[slot].count), with: more)
                contents[slot] += more
            case .overwrite, .overwriteSilently, .mapSilently:
                // Stay within one page: a reader sees either the old page or the new one.
                let offset = Int.random(in: 1..<contents[slot].count / 4096, using: &random) * 4096
                let bytes = random.bytes(64)
                contents[slot].replaceSubrange(offset..<offset + bytes.count, with: bytes)
                try overwrite(path, at: offset, with: bytes, change)
            }
            judge.stands(Digest.md5(contents[slot]), at: name, mayGoUnnoticed: change.isSilent)
            counts[change, default: 0] += 1
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...120, using: &random)))
        }
        try await agent.outcomes(judge, timeout: context.patience)

        let stored = server.stored
        let verdict = try judge.verdict(stored: stored) { try agent.sidecar($0) }
        findings.add(verdict)
        let silent = counts.filter(\.key.isSilent).values.reduce(0, +)
        return findings.outcome(
            "\(changes) changes, \(silent) with times put back: \(verdict.summary); \(stored.finished.count) objects")
    }

    private func replace(_ path: String, with bytes: [UInt8], part: String) throws {
        try Files.write(bytes, to: part)
        try Files.rename(part, to: path)
    }

    private func overwrite(_ path: String, at offset: Int, with bytes: [UInt8], _ change: Change) throws {
        var before = stat()
        stat(path, &before)
        if change == .mapSilently {
            try map(path, at: offset, bytes)
        } else {
            try Files.patch(path, at: UInt64(offset), with: bytes)
        }
        if change.isSilent { utimensat(AT_FDCWD, path, [before.st_atim, before.st_mtim], 0) }
    }

    /// Changes bytes through a mapping; the offset must be a multiple of the page size (man 2 mmap).
    private func map(_ path: String, at offset: Int, _ bytes: [UInt8]) throws {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw Surprise("\(path): errno \(errno)") }
        defer { close(descriptor) }
        let map = mmap(nil, bytes.count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, offset)
        guard let map, map != MAP_FAILED else { throw Surprise("\(path) cannot be mapped: errno \(errno)") }
        bytes.withUnsafeBytes { map.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(map), byteCount: $0.count) }
        munmap(map, bytes.count)
    }
}
