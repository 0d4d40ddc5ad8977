import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// R9: files change while they are hashed and uploaded, some with their times put back, some through a mapping.
struct ChangingFiles: Trial {
    let name = "R9"
    let title = "files changed while hashed or uploaded"
    let bar = "0 mixtures; every change that shows is uploaded"

    private enum Change: CaseIterable {
        case overwrite, overwriteSilently, mapSilently, append, replace

        /// Whether nothing but the bytes tells of it.
        var isSilent: Bool { self == .overwriteSilently || self == .mapSilently }
    }

    func run(_ context: TrialContext) async throws -> Outcome {
        let changes = context.count(quick: 60, usual: 250, long: 500)
        let slots = 6
        var random = context.random
        let server = try FaultServer(uploadDelay: .milliseconds(8))
        let agent = try context.agent(remote: server.url, ["upload.fragments_in_flight": 2])
        try await agent.start()
        var judge = Judge()
        var findings = Findings()
        var contents: [[UInt8]] = Array(repeating: [], count: slots)
        var counts: [Change: Int] = [:]

        for index in 0..<changes {
            let slot = index % slots
            let name = "\(slot).mp4"
            let isThrough = contents[slot].isEmpty ? true : try agent.sidecar(name)?.state == .done
            var change = Change.allCases[Int.random(in: 0..<Change.allCases.count, using: &random)]
            if isThrough {
                change = .replace
                let size = Int.random(in: 500_000...6_000_000, using: &random)
                contents[slot] = SampleMedia.mp4.bytes(size: size, seed: random.next())
            } else if change == .append {
                contents[slot] += random.bytes(Int.random(in: 1...100_000, using: &random))
            } else {
                // Within one page, which a reader sees either as it was or as it is.
                let page = Int.random(in: 1..<contents[slot].count / 4096, using: &random) * 4096
                for (offset, byte) in random.bytes(64).enumerated() { contents[slot][page + offset] = byte }
            }
            try make(change, of: name, contents[slot], agent: agent)
            judge.stands(Digest.md5(contents[slot]), at: name, mayGoUnnoticed: change.isSilent)
            counts[change, default: 0] += 1
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...80, using: &random)))
        }
        try await agent.outcomes(judge, timeout: context.patience)

        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        let silent = counts.filter(\.key.isSilent).values.reduce(0, +)
        return findings.outcome(
            "\(changes) changes, \(silent) with times put back: \(verdict.summary); \(server.finished.count) objects")
    }

    private func make(_ change: Change, of name: String, _ bytes: [UInt8], agent: Agent) throws {
        let path = agent.path(name)
        var before = stat()
        switch change {
        case .replace:
            let fresh = agent.path(".\(name).part")
            try Files.write(bytes, to: fresh)
            try Files.rename(fresh, to: path)
        case .append:
            let size = stat(path, &before) == 0 ? Int(before.st_size) : 0
            try Files.patch(path, at: UInt64(size), with: Array(bytes[size...]))
        case .overwrite: try patchDifference(path, bytes)
        case .overwriteSilently:
            stat(path, &before)
            try patchDifference(path, bytes)
            Self.putTimesBack(path, before)
        case .mapSilently:
            stat(path, &before)
            try mapDifference(path, bytes)
            Self.putTimesBack(path, before)
        }
    }

    /// The one stretch in which the file differs from `bytes`, and what is to stand there.
    private func difference(_ path: String, _ bytes: [UInt8]) throws -> (offset: Int, bytes: [UInt8])? {
        guard let old = Files.read(Array(path.utf8)), old.count == bytes.count else {
            throw Surprise("\(path) is not what the trial put there")
        }
        guard let first = bytes.indices.first(where: { old[$0] != bytes[$0] }),
            let last = bytes.indices.last(where: { old[$0] != bytes[$0] })
        else { return nil }
        return (first, Array(bytes[first...last]))
    }

    private func patchDifference(_ path: String, _ bytes: [UInt8]) throws {
        guard let new = try difference(path, bytes) else { return }
        try Files.patch(path, at: UInt64(new.offset), with: new.bytes)
    }

    private func mapDifference(_ path: String, _ bytes: [UInt8]) throws {
        guard let new = try difference(path, bytes) else { return }
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw Surprise("\(path): errno \(errno)") }
        defer { close(descriptor) }
        guard let map = mmap(nil, bytes.count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), map != MAP_FAILED
        else {
            throw Surprise("\(path) cannot be mapped: errno \(errno)")
        }
        new.bytes.withUnsafeBytes {
            map.advanced(by: new.offset).copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(map), byteCount: $0.count)
        }
        munmap(map, bytes.count)
    }

    private static func putTimesBack(_ path: String, _ status: stat) {
        let times = [status.st_atim, status.st_mtim]
        utimensat(AT_FDCWD, path, times, 0)
    }
}
