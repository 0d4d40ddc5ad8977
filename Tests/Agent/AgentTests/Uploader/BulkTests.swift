import Clocks
import AgentTestSupport
import FileWatch
import Foundation
import Ledger
import Reports
import TestSupport
import Testing

@testable import Agent
@testable import UploadCore

@Suite("Uploader: actions on many files")
struct BulkTests {
    private static let refused = RemoteFailure.permanent(
        FileError(code: "refused", message: "400", retryable: false))

    /// More files than one turn handles, most of them only in the ledger.
    private static let count = 150

    private func queue(_ bench: Bench, in directory: String = "d") async throws {
        for number in 0..<Self.count {
            try await bench.drop("\(directory)/\(number)", content(UInt8(number), 100 + number))
        }
        try await Poll.until("all to be queued") { try await bench.count(.queued, in: directory) == Self.count }
    }

    @Test("files of a directory are cancelled together, and those elsewhere or of a post are left alone")
    func directory() async throws {
        let bench = try await Bench(window: 16)
        bench.remote.hold(.register)
        try await queue(bench)
        try await bench.drop("e/a", content(200))
        let answer = await bench.uploader.performOnAll(.cancel, below: try bench.path("d"))
        #expect(answer.changed == Self.count && answer.unchanged == 0 && !answer.continues)
        #expect(answer.outcomes.count == Self.count)
        #expect(answer.outcomes.map(\.subject.path) == answer.outcomes.map(\.subject.path).sorted())
        #expect(try await bench.count(.cancelled, in: "d") == Self.count)
        #expect(bench.sidecar("d/7")?["state"] as? String == "cancelled")
        #expect(try await bench.record("e/a")?.state.isFinal == false)
        #expect(try bench.ledger.setting(LedgerSetting.bulkActions) == nil)
    }

    @Test("a kill does not end what was asked, and files that came later are not concerned")
    func kill() async throws {
        let first = try await Bench(window: 16)
        first.remote.hold(.register)
        try await queue(first)
        var actions = BulkActions()
        _ = actions.add(BulkAction(action: .cancel, directory: nil, askedAt: first.clock.now.wall))
        await first.ledger.commit([actions.write])
        first.clock.advance(by: .seconds(1))
        try await first.drop("later", content(200))
        try await first.until("later", is: .queued)
        await first.ledger.commit([])
        await first.kill()
        let remote = ScriptedRemote()
        remote.hold(.register)
        let bench = try await Bench(place: first.place, remote: remote, clock: first.clock, window: 16)
        try await Poll.until("all to be cancelled") { try await bench.count(.cancelled, in: "d") == Self.count }
        try await Poll.until("the wish to be forgotten") {
            try bench.ledger.setting(LedgerSetting.bulkActions) == nil
        }
        #expect(try await bench.record("later")?.state.isFinal == false)
    }

    @Test("a later action on a file itself counts more")
    func touched() throws {
        var actions = BulkActions()
        let order = BulkAction(action: .cancel, directory: nil, askedAt: WallTime(milliseconds: 7))
        let path = try #require(RelativePath("a"))
        let first = actions.add(order)
        actions.note(actionOn: [path])
        let second = actions.add(order)
        #expect(actions.isOutdated(first, for: path) && !actions.isOutdated(second, for: path))
        #expect(!actions.isOutdated(first, for: .root))
    }

    @Test("a retry that waits for room is overtaken by all but retries")
    func overtaking() throws {
        var actions = BulkActions()
        let retry = BulkAction(action: .retry, directory: nil, askedAt: WallTime(milliseconds: 7))
        let first = actions.add(retry)
        _ = actions.add(retry)
        #expect(actions.next()?.number == first && actions.next(overtaking: true) == nil)
        let cancel = actions.add(BulkAction(action: .cancel, directory: nil, askedAt: WallTime(milliseconds: 8)))
        #expect(actions.next()?.number == first && actions.next(overtaking: true)?.number == cancel)
        var dismissed = DropRecord(path: .root, state: .cancelled, acceptedAt: WallTime(milliseconds: 1))
        dismissed.finishedAt = WallTime(milliseconds: 9)
        #expect(!retry.reaches(dismissed, at: WallTime(milliseconds: 10)))
    }

    @Test("actions are stored with all that they mean, odd names included")
    func stored() throws {
        var actions = BulkActions()
        let odd = try #require(RelativePath([0x61, 0xFF, 0x2F, 0x0A]))
        let orders = [
            BulkAction(action: .cancel, directory: nil, askedAt: WallTime(milliseconds: 7)),
            BulkAction(action: .retry, directory: .root, askedAt: WallTime(milliseconds: -8)),
            BulkAction(action: .pause, directory: odd, askedAt: WallTime(milliseconds: 9)),
        ]
        for order in orders { _ = actions.add(order) }
        guard case .setting(_, let bytes?) = actions.write else {
            Issue.record("nothing is stored")
            return
        }
        #expect(BulkActions(stored: bytes).pending.map(\.action) == orders)
        #expect(BulkActions(stored: Array("x\0y\0z".utf8)).pending.isEmpty)
        for number in actions.pending.map(\.number) { actions.remove(number) }
        guard case .setting(_, nil) = actions.write else {
            Issue.record("something is stored")
            return
        }
    }

    @Test("a directory is paused, resumed and moved to the front, in the order of names")
    func others() async throws {
        let bench = try await Bench(window: 16)
        bench.remote.hold(.register)
        for name in ["x", "d/a", "d/b"] { try await bench.drop(name, content(UInt8(name.utf8.count), 100)) }
        try await bench.drop("d/b", content(9, 100))
        let directory = try bench.path("d")
        #expect(await bench.uploader.performOnAll(.pause, below: directory).changed == 2)
        try await bench.until("d/a", is: .paused)
        #expect(await bench.uploader.performOnAll(.pause, below: directory).changed == 0)
        #expect(await bench.uploader.performOnAll(.resume, below: directory).changed == 2)
        try await bench.until("d/a", is: .queued)
        #expect(await bench.uploader.performOnAll(.first, below: directory).changed == 2)
    }

    // MARK: Failed files

    private func failed(_ names: String...) async throws -> Bench {
        let bench = try await Bench()
        bench.remote.refuse(Self.refused)
        for (index, name) in names.enumerated() {
            try await bench.drop(name, content(UInt8(index)))
            try await bench.ends(name, .failed)
        }
        return bench
    }

    @Test(
        "a failed file is dismissed by a cancellation, stays so when touched, and starts again on a retry of its directory"
    )
    func dismissed() async throws {
        let bench = try await failed("d/a")
        let answer = await bench.uploader.performOnAll(.cancel, below: nil)
        #expect(answer.changed == 1)
        try await bench.ends("d/a", .cancelled)
        #expect((bench.sidecar("d/a")?["error"] as? [String: Any])?["code"] as? String == "dismissed")
        #expect(await bench.backend.health().files?["failed"] ?? 0 == 0)
        #expect(chmod("\(bench.outbox)/d/a", 0o600) == 0)
        try await bench.ready("d/a")
        try await Poll.until("the hash's end") { await bench.uploader.core { $0.book.hashCount } == 0 }
        try await bench.ends("d/a", .cancelled)
        bench.remote.refuse(nil)
        let retried = await bench.uploader.performOnAll(.retry, below: try bench.path("d"))
        #expect(retried.changed == 1, "\(retried)")
        try await bench.ends("d/a", .done)
    }

    @Test("a removed failed file stops counting as failed at once, and is taken again if it comes back")
    func removed() async throws {
        let bench = try await failed("a")
        try await bench.remove("a")
        await bench.passGrace()
        try await bench.ends("a", .cancelled)
        #expect((bench.sidecar("a")?["error"] as? [String: Any])?["code"] as? String == "removed")
        bench.remote.refuse(nil)
        try await bench.drop("a", content(0))
        try await bench.ends("a", .done)
    }

    @Test("pruning forgets failed files that are gone")
    func prune() async throws {
        let bench = try await failed("a", "b")
        try FileManager.default.removeItem(atPath: "\(bench.outbox)/a")
        #expect(await bench.uploader.prune().entries == 1)
        #expect(try await bench.record("b")?.state == .failed)
    }

    // MARK: Renamed directories

    @Test("a renamed directory takes along all its files, page by page")
    func rename() async throws {
        let bench = try await Bench(window: 16)
        bench.remote.hold(.register)
        try await queue(bench, in: "d/e")
        #expect(Foundation.rename("\(bench.outbox)/d", "\(bench.outbox)/f") == 0)
        bench.uploader.hear([.renamed(from: try bench.path("d"), to: try bench.path("f"), isDirectory: true)])
        try await Poll.until("all to have their new names") {
            try await bench.count(.queued, in: "f/e") == Self.count
        }
        #expect(try await bench.count(nil, in: "d") == 0)
    }
}

extension Bench {
    /// Counts the files at or below a directory, in a state or in any.
    fileprivate func count(_ state: FileState?, in directory: String) async throws -> Int {
        let path = try path(directory)
        return await uploader.ask { world, _ in
            var paths = Set(world.book.drops.keys.filter { $0.isWithin(path) })
            world.core.forEachStoredRecord(within: path) { paths.insert($0.path) }
            return paths.count { path in
                guard let record = world.record(of: path) else { return false }
                return state.map { record.state == $0 } ?? true
            }
        }
    }
}
