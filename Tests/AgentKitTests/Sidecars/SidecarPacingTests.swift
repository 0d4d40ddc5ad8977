import Testing
import UploadCore

@testable import AgentKit

@Suite("Sidecar pacing")
struct SidecarPacingTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private let path: RelativePath
    private var pacing = SidecarPacing()

    init() throws {
        path = try #require(RelativePath("a.jpg"))
    }

    @Test("writes the first report at once")
    mutating func first() {
        #expect(pacing.take(.seen(path), now: start))
    }

    @Test("holds the next back for half a second, and keeps only the newest")
    mutating func holdsBack() {
        write(.seen(path, .settling), at: start)
        #expect(!pacing.take(.seen(path, .hashing), now: start + .milliseconds(100)))
        #expect(!pacing.take(.seen(path, .queued), now: start + .milliseconds(200)))
        #expect(pacing.nextDeadline == start + SidecarPacing.interval)
        #expect(pacing.due(now: start + .milliseconds(499)).isEmpty)
        #expect(pacing.due(now: start + .milliseconds(500)).map(\.state) == [.queued])
        #expect(pacing.nextDeadline == nil)
    }

    @Test("writes at once when half a second is over")
    mutating func afterInterval() {
        write(.seen(path, .settling), at: start)
        #expect(pacing.take(.seen(path, .hashing), now: start + .milliseconds(500)))
    }

    @Test("writes final states at once", arguments: [FileState.done, .failed, .cancelled, .rejected])
    mutating func final(state: FileState) {
        write(.seen(path, .settling), at: start)
        #expect(!pacing.take(.seen(path, .queued), now: start))
        #expect(pacing.take(.seen(path, state), now: start))
        pacing.wrote(.seen(path, state), now: start)
        #expect(pacing.nextDeadline == nil)
        #expect(pacing.due(now: start + .seconds(10)).isEmpty)
    }

    @Test("never writes the same twice, whenever it was made and however fast it is")
    mutating func same() {
        write(.seen(path, .uploading), at: start)
        var again = FileReport.seen(path, .uploading)
        again.updatedAt = WallTime(milliseconds: 0)
        again.bytesPerSecond = 1000
        #expect(!pacing.take(again, now: start + .seconds(5)))
        #expect(pacing.nextDeadline == nil)
    }

    @Test("drops what was held back when things are again as written")
    mutating func backAgain() {
        write(.seen(path, .uploading), at: start)
        #expect(!pacing.take(.seen(path, .waiting), now: start))
        #expect(!pacing.take(.seen(path, .uploading), now: start))
        #expect(pacing.due(now: start + .seconds(1)).isEmpty)
    }

    @Test("starts anew for a path that was forgotten or is taken again after its end")
    mutating func forgets() {
        write(.seen(path, .uploading), at: start)
        pacing.forget(path)
        #expect(pacing.take(.seen(path, .uploading), now: start))
        write(.seen(path, .done), at: start)
        #expect(pacing.take(.seen(path, .settling), now: start))
    }

    @Test("paces each path by itself")
    mutating func paths() throws {
        let other = try #require(RelativePath("b.jpg"))
        write(.seen(path, .settling), at: start)
        #expect(pacing.take(.seen(other, .settling), now: start))
    }

    private mutating func write(_ report: FileReport, at time: MonotonicTime) {
        _ = pacing.take(report, now: time)
        pacing.wrote(report, now: time)
    }
}
