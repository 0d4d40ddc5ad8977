import Clocks
import AgentTestSupport
import Foundation
import Ledger
import LinuxSystem
import Sidecars
import Synchronization
import TestSupport
import Testing

@testable import Agent
@testable import UploadCore

@Suite("Catching up after a kill")
struct CatchUpTests {
    private var stage: ReportStage

    init() throws { stage = try ReportStage() }

    private func hasSidecar(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: stage.place.path("outbox/\(name).outbox.json"))
    }

    private func done(_ name: String) throws -> DropRecord {
        var record = try stage.record(name, .done)
        record.finishedAt = stage.clock.now.wall
        return record
    }

    /// Catches up to the end.
    ///
    /// - Returns: the pages.
    private func catchUp(outbox: KnownOutbox = KnownOutbox(), isComplete: Bool = true) async throws -> [CatchUp.Page] {
        let counter = Counter()
        let catchUp = CatchUp(stage.sidecars, examines: true) { counter.add() }
        #expect(catchUp.isComplete)
        catchUp.begin()
        var pages: [CatchUp.Page] = []
        var checks = 0
        while !catchUp.isOver {
            #expect(!catchUp.isComplete)
            pages.append(catchUp.proceed(stage.world, outbox: outbox, isCrowded: false))
            if catchUp.mayProceed || catchUp.isOver { continue }
            #expect(catchUp.proceed(stage.world, outbox: outbox, isCrowded: false).toExamine.isEmpty)
            checks += 1
            let count = checks
            try await Poll.until("the checks") { counter.count == count }
            catchUp.checked()
        }
        #expect(catchUp.isComplete == isComplete)
        return pages
    }

    @Test("writes the missing sidecars of all paths at rest, page by page")
    func missing() async throws {
        let names = (0..<1100).map { "sea/\($0).jpg" }
        await stage.ledger.commit(try names.map { .drop(try done($0)) } + [.drop(try stage.record("waits", .queued))])
        let pages = try await catchUp()
        #expect(pages.allSatisfy { $0.toExamine.count <= 512 })
        #expect(pages.count > 4)
        #expect(
            Set(pages.flatMap(\.toExamine).map(\.path))
                == Set(try (names + ["waits"]).map { try #require(RelativePath($0)) }))
        #expect(pages.flatMap(\.awaited) == [ContentKey(high: 1, low: 1)])
        for name in names + ["waits"] { #expect(hasSidecar(name), "\(name)") }
    }

    @Test("leaves the sidecars of paths alone that are under way")
    mutating func underWay() async throws {
        let record = try stage.add("a", .queued)
        await stage.ledger.commit([.drop(record)])
        let pages = try await catchUp()
        #expect(pages.allSatisfy { $0.awaited.isEmpty })
        #expect(!hasSidecar("a"))
    }

    @Test("replaces an outdated sidecar of an ended path; of a waiting path, any sidecar will do")
    func outdated() async throws {
        let waiting = try stage.record("b", .queued)
        stage.sidecars.note(stage.world.report(of: try stage.record("a", .settling)))
        stage.sidecars.note(stage.world.report(of: try stage.record("b", .settling)))
        await stage.sidecars.flush()
        await stage.ledger.commit([.drop(try done("a")), .drop(waiting)])
        _ = try await catchUp()
        let text = { (name: String) in
            try String(contentsOfFile: stage.place.path("outbox/\(name).outbox.json"), encoding: .utf8)
        }
        #expect(try text("a").contains("\"done\""))
        #expect(try text("b").contains("\"settling\""))
    }

    @Test("removes the sidecar at the former place of a moved file, unless another file is there")
    func moved() async throws {
        var moved = try done("sea/b")
        moved.disposal = .moved(from: try #require(RelativePath("b")))
        var reused = try done("sea/c")
        reused.disposal = .moved(from: try #require(RelativePath("c")))
        let again = try done("c")
        for name in ["b", "c"] { stage.sidecars.note(stage.world.report(of: try done(name))) }
        await stage.sidecars.flush()
        await stage.ledger.commit([.drop(moved), .drop(reused), .drop(again)])
        _ = try await catchUp()
        try await Poll.until("the removal") { !hasSidecar("b") }
        #expect(hasSidecar("c"))
    }

    @Test("writes no sidecars into another outbox, and leaves them to the next run")
    func otherOutbox() async throws {
        await stage.ledger.commit([.drop(try done("a"))])
        _ = try await catchUp(outbox: KnownOutbox([1]), isComplete: false)
        #expect(!hasSidecar("a"))
    }

    @Test("queues no more examinations while many wait")
    func crowded() async throws {
        await stage.ledger.commit([.drop(try done("a"))])
        let counter = Counter()
        let catchUp = CatchUp(stage.sidecars, examines: true) { counter.add() }
        catchUp.begin()
        _ = catchUp.proceed(stage.world, outbox: KnownOutbox(), isCrowded: true)
        try await Poll.until("the checks") { counter.count == 1 }
        catchUp.checked()
        #expect(hasSidecar("a"))
        #expect(catchUp.proceed(stage.world, outbox: KnownOutbox(), isCrowded: true).toExamine.isEmpty)
        #expect(!catchUp.isOver)
        #expect(catchUp.proceed(stage.world, outbox: KnownOutbox(), isCrowded: false).toExamine.count == 1)
        #expect(catchUp.isComplete)
    }
}

private final class Counter: Sendable {
    private let number = Mutex(0)

    var count: Int { number.withLock(\.self) }
    func add() { number.withLock { $0 += 1 } }
}
