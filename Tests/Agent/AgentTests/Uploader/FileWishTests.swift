import AgentTestSupport
import FileWatch
import Foundation
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import Reports

/// A user's action on a file follows the file through renames, whether the watch or a scan finds the new name.
@Suite("Uploader: user actions follow files")
struct FileWishTests {
    /// The stage of a file when the user acts on the file.
    enum Stage: CaseIterable {
        case settling, hashing, uploading
    }

    /// The change of the file's name while no agent runs.
    enum Change: CaseIterable {
        case renamed, moved, directoryRenamed

        var newName: String {
            switch self {
            case .renamed: "trip/renamed"
            case .moved: "other/a"
            case .directoryRenamed: "voyage/a"
            }
        }
    }

    private static let variants = Stage.allCases.flatMap { stage in Change.allCases.map { (stage, $0) } }

    private func target(_ name: String, _ bench: Bench) throws -> ActionTarget {
        .file(id: FileReport.id(of: try bench.path(name)))
    }

    @discardableResult
    private func act(_ action: UserAction, on name: String, _ bench: Bench) async throws -> [ActionOutcome<FileReport>]
    {
        let answer = try #require(await bench.uploader.perform(action, on: try target(name, bench)))
        #expect(answer.unchanged().map(\.reason) == [])
        return answer
    }

    /// Drops a file and performs an action when the file reaches a stage.
    private func act(_ action: UserAction, on name: String, at stage: Stage, _ bench: Bench) async throws {
        bench.remote.hold(.send)
        try bench.write(name, content(1))
        let path = try bench.path(name)
        await bench.uploader.take([.seen(path)])
        switch stage {
        case .settling: try await act(action, on: name, bench)
        case .hashing:
            // Event and action in one step, so that the action comes before the hash.
            let answer = await bench.uploader.take(
                [.ready(path, try bench.status(name))], thenPerform: action, on: try target(name, bench))
            #expect(answer?.unchanged().map(\.reason) == [])
        case .uploading:
            try await bench.ready(name)
            try await bench.until(name, is: .uploading)
            try await act(action, on: name, bench)
        }
    }

    private func change(_ change: Change, _ bench: Bench) throws {
        let (old, new) = change == .directoryRenamed ? ("trip", "voyage") : ("trip/a", change.newName)
        let target = URL(fileURLWithPath: "\(bench.outbox)/\(new)")
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        #expect(Foundation.rename("\(bench.outbox)/\(old)", target.path) == 0)
    }

    private func restart(_ bench: Bench, whileDown act: () throws -> Void = {}) async throws -> Bench {
        await bench.uploader.stop()
        await bench.kill()
        try act()
        return try await Bench(place: bench.place, remote: bench.remote, clock: bench.clock)
    }

    /// Reports a full scan in the watch's order: first the files that the ledger does not know.
    private func look(_ names: String..., in bench: Bench) async throws {
        for name in names { try await bench.ready(name) }
        try await bench.scan()
    }

    /// Waits until a new file is done. The uploader has then handled every earlier event.
    private func witness(_ bench: Bench, _ seed: UInt8 = 99) async throws {
        bench.remote.release()
        try await bench.drop("witness", content(seed, 5000))
        try await bench.ends("witness", .done)
    }

    // MARK: While no agent runs

    @Test("a cancelled file that is renamed or moved while no agent runs stays cancelled", arguments: variants)
    func cancelled(stage: Stage, change: Change) async throws {
        let first = try await Bench()
        try await act(.cancel, on: "trip/a", at: stage, first)
        try await first.ends("trip/a", .cancelled)
        let sent = first.remote.registered.count
        let bench = try await restart(first) { try self.change(change, first) }
        try await look(change.newName, in: bench)
        try await bench.ends(change.newName, .cancelled)
        await bench.passGrace()
        try await witness(bench)
        #expect(bench.remote.registered.count == sent + 1)
        #expect(try await bench.record("trip/a") == nil)
        #expect(try await bench.record(change.newName)?.isCancelledByUser == true)
        try await Poll.until("the old sidecar to go") { bench.sidecar("trip/a") == nil }
        // The next restart keeps the cancellation. A retry still uploads the file.
        let last = try await restart(bench)
        try await last.ready(change.newName)
        #expect(try await last.record(change.newName)?.state == .cancelled)
        try await act(.retry, on: change.newName, last)
        try await last.ends(change.newName, .done)
    }

    @Test("a paused file that is renamed or moved while no agent runs stays paused", arguments: variants)
    func paused(stage: Stage, change: Change) async throws {
        let first = try await Bench()
        try await act(.pause, on: "trip/a", at: stage, first)
        let bench = try await restart(first) { try self.change(change, first) }
        let sent = bench.remote.sent.count
        try await look(change.newName, in: bench)
        try await Poll.until("its content to be known") { try await bench.record(change.newName)?.key != nil }
        try await witness(bench)
        await bench.passGrace()
        try await bench.until(change.newName, is: .paused)
        #expect(bench.remote.sent.count == sent + 1)
        try await Poll.until("the old name to be forgotten") {
            // The removal grace may have started only just now.
            await bench.passGrace()
            return try await bench.record("trip/a").map(\.wasRemoved) ?? true
        }
        try await act(.resume, on: change.newName, bench)
        try await bench.ends(change.newName, .done)
    }

    @Test("a file moved to the front before its content was known is first after a restart, also after a rename")
    func first() async throws {
        let first = try await Bench()
        try first.write("trip/a", content(1))
        await first.uploader.take([.seen(try first.path("trip/a"))])
        try await act(.first, on: "trip/a", first)
        let bench = try await restart(first) { try self.change(.renamed, first) }
        bench.remote.hold(.send)
        for (name, seed) in [("b", 2), ("c", 3), ("d", 4)] as [(String, UInt8)] {
            try await bench.drop(name, content(seed))
            try await Poll.until("its content to be known") { try await bench.record(name)?.key != nil }
        }
        try await bench.ready("trip/renamed")
        try await Poll.until("its content to be known") { try await bench.record("trip/renamed")?.key != nil }
        let mine = try #require(await bench.uploader.order(of: "trip/renamed"))
        for name in ["b", "c", "d"] { #expect(mine < (try #require(await bench.uploader.order(of: name)))) }
    }

    @Test("a file cancelled while being written is not sent after a restart, even if the file grew")
    func grown() async throws {
        let first = try await Bench()
        try first.write("a", content(1, 10))
        await first.uploader.take([.seen(try first.path("a"))])
        try await act(.cancel, on: "a", first)
        let bench = try await restart(first) {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(first.outbox)/a"))
            try file.seekToEnd()
            try file.write(contentsOf: content(2))
            try file.close()
            #expect(Foundation.rename("\(first.outbox)/a", "\(first.outbox)/b") == 0)
        }
        try await look("b", in: bench)
        try await witness(bench)
        #expect(try await bench.record("b")?.state == .cancelled)
        #expect(bench.remote.registered.count == 1)
        try await bench.drop("b", content(3, 3000))
        try await bench.ends("b", .done)
    }

    @Test("another file under the old name is a new file, in either order of discovery", arguments: [true, false])
    func oldNameTaken(together: Bool) async throws {
        let first = try await Bench()
        try await act(.cancel, on: "a", at: .uploading, first)
        try await first.ends("a", .cancelled)
        let bench = try await restart(first) {
            #expect(Foundation.rename("\(first.outbox)/a", "\(first.outbox)/b") == 0)
            try first.write("a", content(7))
        }
        bench.remote.release()
        let (a, b) = (try bench.path("a"), try bench.path("b"))
        await bench.uploader.take(
            [.ready(a, try bench.status("a"))] + (together ? [.ready(b, try bench.status("b"))] : []))
        if !together {
            try await bench.ends("a", .done)
            try await bench.ready("b")
        }
        try await bench.scan()
        try await bench.ends("b", .cancelled)
        try await bench.ends("a", .done)
        #expect(bench.remote.registered.count == 2)
    }

    @Test("a file that replaces a file cancelled while being written is a new file")
    func replacedEarly() async throws {
        let bench = try await Bench()
        try bench.write("a", content(1, 10))
        await bench.uploader.take([.seen(try bench.path("a"))])
        try await act(.cancel, on: "a", bench)
        try bench.write("b", content(2))
        #expect(Foundation.rename("\(bench.outbox)/b", "\(bench.outbox)/a") == 0)
        await bench.uploader.take([.seen(try bench.path("a"))])
        try await bench.ready("a")
        try await bench.ends("a", .done)
    }

    // MARK: Other files with the same content

    @Test("content moved to another file system stays cancelled if the old name is gone")
    func content_() async throws {
        let first = try await Bench()
        try await act(.cancel, on: "a", at: .uploading, first)
        try await first.ends("a", .cancelled)
        first.clock.advance(by: .seconds(7200))
        let bench = try await restart(first) {
            try first.write("b", content(1))
            try FileManager.default.removeItem(atPath: "\(first.outbox)/a")
        }
        try await look("b", in: bench)
        try await bench.ends("b", .cancelled)
        try await witness(bench)
        #expect(bench.remote.registered.count == 2)
    }

    @Test("a copy beside a cancelled file is a new file")
    func copy() async throws {
        let bench = try await Bench()
        try await act(.cancel, on: "a", at: .uploading, bench)
        try await bench.ends("a", .cancelled)
        bench.remote.release()
        try await bench.drop("b", content(1))
        try await bench.ends("b", .done)
        #expect(try await bench.record("a")?.state == .cancelled)
    }

    @Test(
        "a file dropped after the removal of a cancelled file is a new file, also after a restart",
        arguments: [true, false])
    func droppedAgain(restarts: Bool) async throws {
        var bench = try await Bench()
        try await act(.cancel, on: "a", at: .uploading, bench)
        try await bench.ends("a", .cancelled)
        try await bench.remove("a")
        await bench.passGrace()
        if restarts { bench = try await restart(bench) }
        bench.remote.release()
        try await bench.drop("b", content(1))
        try await bench.ends("b", .done)
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
    }

    @Test("a cancelled file stays cancelled when touched or restored from a copy")
    func touched() async throws {
        let bench = try await Bench()
        try await act(.cancel, on: "a", at: .uploading, bench)
        try await bench.ends("a", .cancelled)
        bench.remote.release()
        try bench.write("a", content(1))
        await bench.uploader.take([.seen(try bench.path("a"))])
        try await bench.ready("a")
        try await bench.ends("a", .cancelled)
        try FileManager.default.removeItem(atPath: "\(bench.outbox)/a")
        try bench.write("a", content(1))
        try await bench.ready("a")
        try await witness(bench)
        try await bench.ends("a", .cancelled)
        #expect(bench.remote.registered.count == 2)
        try await bench.drop("a", content(2))
        try await bench.ends("a", .done)
    }

    @Test("a cancelled file is forgotten only after a search under other names")
    func retention() async throws {
        let first = try await Bench()
        try await act(.cancel, on: "a", at: .uploading, first)
        try await first.ends("a", .cancelled)
        first.clock.advance(by: .seconds(7200))
        let bench = try await restart(first) {
            try FileManager.default.removeItem(atPath: "\(first.outbox)/a")
        }
        try await bench.scan()
        #expect(try await bench.record("a") != nil)
        await bench.passGrace()
        try await bench.scan()
        #expect(try await bench.record("a") == nil)
    }

    // MARK: While an agent runs

    @Test("an action on a new name reaches the file after a missed rename", arguments: [UserAction.cancel, .pause])
    func unrecognised(action: UserAction) async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        #expect(Foundation.rename("\(bench.outbox)/a", "\(bench.outbox)/b") == 0)
        await bench.uploader.take([.seen(try bench.path("b"))])
        try await act(action, on: "b", bench)
        #expect(try await bench.record("a") == nil)
        await bench.uploader.take([.gone(try bench.path("a"))])
        try await bench.ready("b")
        await bench.passGrace()
        try await witness(bench)
        try await bench.until("b", is: action == .cancel ? .cancelled : .paused)
        #expect(bench.remote.sent.count == 1)
        if action == .cancel { try await Poll.until("its end on the server") { bench.remote.removed == ["1"] } }
    }

    @Test("an action on a name that has just changed reaches the file")
    func formerName() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        let id = try target("a", bench)
        try await bench.rename("a", to: "b")
        try await bench.rename("b", to: "c")
        let answer = try #require(await bench.uploader.perform(.cancel, on: id))
        #expect(answer.changed().map(\.path) == [try bench.path("c")])
        try await bench.ends("c", .cancelled)
    }
}

extension Uploader {
    /// Handles events and performs an action, with nothing in between.
    fileprivate func take(
        _ events: [WatchEvent], thenPerform action: UserAction, on target: ActionTarget
    ) async -> [ActionOutcome<FileReport>]? {
        take(events)
        return await perform(action, on: target)
    }

    /// The position of a path's upload in the queue.
    fileprivate func order(of name: String) -> Int64? {
        RelativePath(name).flatMap { core.record(of: $0)?.key }.flatMap { core.machine.record(of: $0)?.order }
    }
}
