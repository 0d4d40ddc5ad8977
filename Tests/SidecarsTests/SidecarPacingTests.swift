import AgentTestSupport
import Testing
import UploadCore

@testable import Reports
@testable import Sidecars

@Suite("Sidecar pacing")
final class SidecarPacingTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private let path: RelativePath
    private var pacing = SidecarPacing()

    init() throws {
        path = try #require(RelativePath("a.jpg"))
    }

    @Test("writes the first report at once")
    func first() {
        #expect(take(.seen(path), now: start))
    }

    @Test("holds the next report back for half a second, and keeps only the newest")
    func holdsBack() {
        write(.seen(path, .settling), at: start)
        #expect(!take(.seen(path, .hashing), now: start + .milliseconds(100)))
        #expect(!take(.seen(path, .queued), now: start + .milliseconds(200)))
        #expect(pacing.nextDeadline == start + SidecarPacing.interval)
        #expect(due(start + .milliseconds(499)).isEmpty)
        #expect(due(start + .milliseconds(500)).map(\.state) == [.file(.queued)])
        #expect(pacing.nextDeadline == nil)
    }

    @Test("writes at once when half a second is over")
    func afterInterval() {
        write(.seen(path, .settling), at: start)
        #expect(take(.seen(path, .hashing), now: start + .milliseconds(500)))
    }

    @Test("writes final states at once", arguments: [FileState.done, .failed, .cancelled, .rejected])
    func final(state: FileState) {
        write(.seen(path, .settling), at: start)
        #expect(!take(.seen(path, .queued), now: start))
        #expect(take(.seen(path, state), now: start))
        pacing.wrote(.file(.seen(path, state)), now: start)
        #expect(pacing.nextDeadline == nil)
        #expect(due(start + .seconds(10)).isEmpty)
    }

    @Test("never writes the same report twice, regardless of its time and speed")
    func same() {
        write(.seen(path, .uploading), at: start)
        var again = FileReport.seen(path, .uploading)
        again.updatedAt = WallTime(milliseconds: 0)
        again.bytesPerSecond = 1000
        #expect(!take(again, now: start + .seconds(5)))
        #expect(pacing.nextDeadline == nil)
    }

    @Test("drops a held report if the written state is back")
    func backAgain() {
        write(.seen(path, .uploading), at: start)
        #expect(!take(.seen(path, .waiting), now: start))
        #expect(!take(.seen(path, .uploading), now: start))
        #expect(due(start + .seconds(1)).isEmpty)
    }

    @Test("starts over for a path that was forgotten or is uploaded again")
    func forgets() {
        write(.seen(path, .uploading), at: start)
        pacing.forget(.file(path))
        #expect(take(.seen(path, .uploading), now: start))
        write(.seen(path, .done), at: start)
        #expect(take(.seen(path, .settling), now: start))
    }

    @Test("paces each path separately")
    func paths() throws {
        let other = try #require(RelativePath("b.jpg"))
        write(.seen(path, .settling), at: start)
        #expect(take(.seen(other, .settling), now: start))
    }

    @Test("writes changes of an ended source at most twice a second, and a new final state at once")
    func sourceAfterEnd() throws {
        var report = SourceReport.seen(path, .file(.done))
        #expect(take(.source(report), now: start))
        pacing.wrote(.source(report), now: start)
        report.pendingChanges = [path]
        #expect(!take(.source(report), now: start + .milliseconds(100)))
        #expect(due(start + .milliseconds(500)).count == 1)
        report.state = .file(.cancelled)
        #expect(take(.source(report), now: start + .milliseconds(200)))
    }

    @Test("never writes the same report of a source twice, regardless of its files' speed")
    func sameSource() throws {
        var report = SourceReport.seen(path, .file(.uploading))
        report.files = [.seen(path, .uploading)]
        #expect(take(.source(report), now: start))
        pacing.wrote(.source(report), now: start)
        report.updatedAt = WallTime(milliseconds: 0)
        report.files[0].updatedAt = WallTime(milliseconds: 0)
        report.files[0].bytesPerSecond = 1000
        #expect(!take(.source(report), now: start + .seconds(5)))
        report.files[0].progress = 0.5
        #expect(take(.source(report), now: start + .seconds(5)))
    }

    @Test("paces the source of a directory and a file of the same name separately")
    func sourceAndFile() {
        write(.seen(path, .settling), at: start)
        #expect(take(.source(.seen(path)), now: start))
    }

    private func take(_ report: FileReport, now: MonotonicTime) -> Bool { take(.file(report), now: now) }

    private func take(_ sidecar: Sidecar, now: MonotonicTime) -> Bool { pacing.take(sidecar, now: now) }

    private func due(_ now: MonotonicTime) -> [Sidecar] { pacing.due(now: now) }

    private func write(_ report: FileReport, at time: MonotonicTime) {
        _ = take(report, now: time)
        pacing.wrote(.file(report), now: time)
    }
}
