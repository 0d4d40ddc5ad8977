import AgentTestSupport
import ControlAPI
import Foundation
import Intake
import Ledger
import Reports
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import FileWatch

/// Creates, changes, moves and removes files at random, with kills of the agent in between. In the end every existing
/// file must be done with its present bytes, and nothing else may remain.
@Suite("Uploader: random walks")
struct UploaderRandomWalkTests {
    /// With seeds above 6 the upload machine holds two waiting uploads, and the ledger the others.
    @Test("lose no file", arguments: 1...10)
    func walk(seed: UInt64) async throws {
        var walk = try await Walk(seed: seed, window: seed > 6 ? 2 : Uploader.window)
        for _ in 0..<60 {
            try await walk.step()
            await walk.checkCounts()
        }
        try await walk.settle()
        for name in try walk.files() {
            // Sidecar and record may still describe an earlier file of this name.
            let identity = FileIdentity(try walk.bench.status(name))
            let record = try await Poll.value("\(name) is done", lastState: { "\(walk.bench.sidecar(name) ?? [:])" }) {
                let isTold = walk.bench.sidecar(name)?["state"] as? String == "done"
                let record = try await walk.bench.record(name)
                return isTold && record?.state == .done && record?.identity == identity ? record : nil
            }
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(walk.bench.outbox)/\(name)"))
            let id = try #require(record.remote?.id)
            #expect(walk.bench.remote.content(of: id) == Array(bytes), "\(name)")
        }
        try await walk.checkLeftovers()
    }
}

private struct Walk {
    private var random: SeededRandom
    private let window: Int
    private(set) var bench: Bench
    private let names = ["a", "b", "c", "d/a", "d/b", "d/e/a"]

    init(seed: UInt64, window: Int) async throws {
        random = SeededRandom(seed: seed)
        self.window = window
        bench = try await Bench(window: window)
    }

    func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: bench.outbox).filter { name in
            var isDirectory = ObjCBool(false)
            _ = FileManager.default.fileExists(atPath: "\(bench.outbox)/\(name)", isDirectory: &isDirectory)
            // Skip sidecars and their temporary files.
            let isOwn = name.hasSuffix(".outbox.json") || URL(filePath: name).lastPathComponent.hasPrefix(".outbox-")
            return !isDirectory.boolValue && !isOwn
        }.sorted()
    }

    mutating func step() async throws {
        let present = try files()
        switch Int.random(in: 0..<13, using: &random) {
        case 0..<5: try await drop()
        case 5 where !present.isEmpty: try await bench.remove(pick(present))
        case 6, 7:
            guard !present.isEmpty else { return }
            try await rename(pick(present), to: pick(names))
        case 8 where FileManager.default.fileExists(atPath: "\(bench.outbox)/d"):
            try? FileManager.default.removeItem(atPath: "\(bench.outbox)/x")
            await bench.uploader.take([.gone(try bench.path("x"))])
            try await bench.rename("d", to: "x", isDirectory: true)
            try await bench.rename("x", to: "d", isDirectory: true)
        case 9: bench.remote.hold([.register, .send, .finish][Int.random(in: 0..<3, using: &random)])
        case 10: bench.remote.release()
        case 11: await bench.passGrace()
        case 12: try await restart()
        default: break
        }
    }

    /// Ends the walk: releases all held steps, and runs a full scan to make up for missed events.
    mutating func settle() async throws {
        bench.remote.release()
        try await restart()
        try await scan()
        await bench.passGrace()
    }

    func checkLeftovers() async throws {
        let present = Set(try files())
        for report in await bench.backend.files(ListQuery()).reports where !present.contains("\(report.path)") {
            #expect(report.state == .cancelled, "\(report.path)")
        }
    }

    /// Compares the ledger's counts, corrected by what is not durable or under way, with a walk over all paths.
    func checkCounts() async {
        let (counted, walked) = await bench.uploader.ask { world, _ in
            (world.resting.counts(), world.resting.walkedCounts(world.machine.backlogView))
        }
        #expect(counted == walked)
    }

    private mutating func drop() async throws {
        let size = [1, 1000, 600_000][Int.random(in: 0..<3, using: &random)]
        // Use few contents, so that paths share contents.
        try await bench.drop(pick(names), content(UInt8.random(in: 0..<4, using: &random), size))
    }

    private mutating func rename(_ old: String, to new: String) async throws {
        guard old != new else { return }
        let parent = URL(fileURLWithPath: "\(bench.outbox)/\(new)").deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        try await bench.rename(old, to: new)
        try await readyUnlessKnown(new)
    }

    private mutating func restart() async throws {
        await bench.kill()
        bench.remote.release()
        bench = try await Bench(place: bench.place, remote: bench.remote, clock: bench.clock, window: window)
        try await scan()
    }

    private func scan() async throws {
        var summary = ScanSummary()
        for name in try files() {
            summary.insert(try bench.path(name))
            try await readyUnlessKnown(name)
        }
        await bench.uploader.take([.scanned(summary)])
    }

    private func readyUnlessKnown(_ name: String) async throws {
        let record = try bench.ledger.drop(at: try bench.path(name))
        let identity = FileIdentity(try bench.status(name))
        if record?.identity == identity, record?.key != nil { return }
        try await bench.ready(name)
    }

    private mutating func pick(_ list: [String]) -> String { list[Int.random(in: 0..<list.count, using: &random)] }
}
