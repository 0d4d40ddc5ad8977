import AgentTestSupport
import TestSupport
import Testing
import UploadCore

@testable import Reports
@testable import Sidecars

@Suite("Sidecar queue")
final class SidecarQueueTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)
    private let path: RelativePath
    private var queue = SidecarQueue()

    init() throws {
        path = try #require(RelativePath("a.jpg"))
    }

    // MARK: States

    @Test("writes the first report at once on an idle agent")
    func first() {
        add(.seen(path), after: .zero)
        #expect(jobs(after: .zero) == ["settling"])
    }

    @Test("writes a file that ends at once only once, while many files come", arguments: [FileState.done, .failed])
    func endsAtOnce(state: FileState) {
        useUpCredit()
        for (index, state) in [FileState.settling, .hashing, .queued, .uploading, .verifying].enumerated() {
            add(.seen(path, state), after: .milliseconds(40 * index))
            #expect(jobs(after: .milliseconds(40 * index)) == [])
        }
        add(.seen(path, state), after: .milliseconds(200))
        #expect(jobs(after: .milliseconds(200)) == [state.rawValue])
        #expect(jobs(after: .seconds(60)) == [])
        #expect(queue.nextDeadline == nil)
    }

    @Test("writes a state only after it has lasted for a quarter of a second")
    func lasting() {
        useUpCredit()
        add(.seen(path, .settling), after: .zero)
        add(.seen(path, .queued), after: .milliseconds(200))
        #expect(jobs(after: .milliseconds(449)) == [])
        #expect(jobs(after: .milliseconds(450)) == ["queued"])
    }

    @Test("writes a state that keeps changing after a second")
    func restless() {
        useUpCredit()
        for step in 0..<5 { add(.seen(path, step % 2 == 0 ? .uploading : .waiting), after: .milliseconds(200 * step)) }
        #expect(jobs(after: .milliseconds(999)) == [])
        #expect(jobs(after: .seconds(1)) == ["uploading"])
    }

    @Test("writes progress at most twice a second, and only the newest")
    func progress() {
        show(.seen(path, .uploading))
        for step in 1...4 {
            var report = FileReport.seen(path, .uploading)
            report.progress = Double(step) / 10
            add(report, after: .milliseconds(100 * step))
        }
        #expect(queue.nextDeadline == start + SidecarQueue.interval)
        #expect(jobs(after: .milliseconds(499)) == [])
        guard case .write(.file(let report)) = queue.next(now: start + .milliseconds(500))?.order else {
            Issue.record("nothing is due")
            return
        }
        #expect(report.progress == 0.4)
    }

    @Test("writes final states at once", arguments: [FileState.done, .failed, .cancelled, .rejected])
    func final(state: FileState) {
        show(.seen(path, .uploading))
        add(.seen(path, .waiting), after: .milliseconds(10))
        add(.seen(path, state), after: .milliseconds(20))
        #expect(jobs(after: .milliseconds(20)) == [state.rawValue])
        #expect(jobs(after: .seconds(10)) == [])
        #expect(queue.count == 0)
    }

    @Test("writes changes of an ended source at most twice a second, and a new final state at once")
    func sourceAfterEnd() {
        var report = SourceReport.seen(path, .file(.done))
        queue.add(.write(.source(report)), for: .source(path), now: start)
        #expect(jobs(after: .zero) == ["done"])
        report.pendingChanges = [path]
        queue.add(.write(.source(report)), for: .source(path), now: start + .milliseconds(100))
        #expect(jobs(after: .milliseconds(499)) == [])
        #expect(jobs(after: .milliseconds(500)) == ["done"])
        report.state = .file(.cancelled)
        queue.add(.write(.source(report)), for: .source(path), now: start + .milliseconds(600))
        #expect(jobs(after: .milliseconds(600)) == ["cancelled"])
    }

    @Test("paces the source of a directory and a file of the same name separately")
    func sourceAndFile() {
        show(.seen(path, .settling))
        queue.add(.write(.source(.seen(path))), for: .source(path), now: start)
        #expect(jobs(after: .zero).count == 1)
    }

    // MARK: Orders

    @Test("removes a sidecar at once instead of writing an older report")
    func removal() {
        useUpCredit()
        add(.seen(path), after: .zero)
        queue.add(.remove, for: .file(path), now: start)
        #expect(jobs(after: .zero) == ["remove"])
        #expect(jobs(after: .seconds(10)) == [])
    }

    @Test("a report that replaces a removal keeps its turn, since the old sidecar says something else")
    func afterRemoval() {
        useUpCredit()
        queue.add(.remove, for: .file(path), now: start)
        add(.seen(path), after: .zero)
        #expect(jobs(after: .zero) == ["settling"])
    }

    @Test("does not remove a stray whose path has a report")
    func stray() {
        useUpCredit()
        let stray = StraySidecar(directory: .root, name: Array("a.jpg.outbox.json".utf8), subject: .file(path))
        add(.seen(path), after: .zero)
        queue.add(.discard(stray), for: .file(path), now: start)
        #expect(jobs(after: .seconds(1)) == ["settling"])
    }

    @Test("checks sidecars of the last run after all others")
    func repairs() throws {
        queue.add(.repair(.file(.seen(path, .done))), for: .file(path), now: start)
        let other = try #require(RelativePath("b.jpg"))
        add(.seen(other, .failed), after: .zero)
        #expect(jobs(after: .zero) == ["failed", "repair done"])
    }

    // MARK: Failures

    @Test("retries a failed write, and tries a newer final state at once")
    func failure() throws {
        add(.seen(path, .uploading), after: .zero)
        for attempt in 0..<2 {
            let now = start + SidecarQueue.retry * attempt
            if attempt > 0 { #expect(jobs(after: SidecarQueue.retry + .milliseconds(-1)) == []) }
            let job = queue.next(now: now)
            guard case .write(let sidecar) = try #require(job).order else { return }
            queue.failed(sidecar, now: now)
        }
        add(.seen(path, .done), after: .seconds(4))
        #expect(jobs(after: .seconds(4)) == ["done"])
    }

    @Test("tries failed writes again after all others, and holds them back while they fail")
    func stalled() throws {
        let bad = try (0..<40).map(numbered)
        for path in bad { add(.seen(path, .queued), after: .zero) }
        fail(after: .seconds(1), atMost: 100)
        #expect(jobs(after: .seconds(3)) == [])
        add(.seen(path, .uploading), after: .seconds(4))
        #expect(queue.next(now: start + .seconds(5))?.subject == .file(path), "the others are overdue")
        fail(after: .seconds(5), atMost: 16)
        queue.stall(now: start + .seconds(5))
        add(.seen(path, .done), after: .seconds(5))
        add(.seen(try numbered(99), .queued), after: .seconds(5))
        #expect(jobs(after: .seconds(7)).sorted() == ["done", "queued"])
        #expect(queue.nextDeadline == start + .seconds(8))
        #expect(jobs(after: .seconds(8)).count == 40)
    }

    @Test("repairs and failed writes leave the pacing of all others as it is")
    func extra() throws {
        useUpCredit()
        for index in 0...SidecarQueue.mostEntries {
            let path = try numbered(index)
            queue.add(.repair(.file(.seen(path, .done))), for: .file(path), now: start)
        }
        add(.seen(path, .queued), after: .zero)
        #expect(queue.next(now: start).map(\.subject) != .file(path))
        #expect(queue.next(now: start + .milliseconds(250)).map(\.subject) == .file(path))
    }

    @Test("forgets what is being written when everything is dropped")
    func dropped() throws {
        add(.seen(path, .uploading), after: .zero)
        let job = queue.next(now: start)
        queue = SidecarQueue()
        guard case .write(let sidecar) = try #require(job).order else { return }
        queue.failed(sidecar, now: start)
        #expect(queue.count == 0)
        #expect(jobs(after: .seconds(10)) == [])
    }

    // MARK: Many files

    @Test("writes few sidecars of waiting files while others end, and the rest afterwards")
    func rush() throws {
        useUpCredit()
        for index in 0..<100 { add(.seen(try numbered(index), .queued), after: .zero) }
        var waiting = 0
        for step in 0..<10 {
            let time = Duration.milliseconds(250 + 50 * step)
            add(.seen(try numbered(1000 + step), .done), after: time)
            let written = jobs(after: time)
            #expect(written.first == "done")
            waiting += written.count - 1
        }
        #expect(waiting == 5 * SidecarQueue.mostPerRush)
        #expect(jobs(after: .seconds(1)).count == 100 - waiting)
    }

    @Test("writes few sidecars of waiting files at the beginning of a burst, and many if none of the files ends")
    func burst() throws {
        for index in 0...SidecarQueue.burst { add(.seen(try numbered(index), .queued), after: .zero) }
        var written = jobs(after: .milliseconds(100)).count
        #expect(written == SidecarQueue.mostAtOnce)
        for share in 3...19 { written += jobs(after: SidecarQueue.share * share).count }
        #expect(written == SidecarQueue.mostAtOnce + 17 * SidecarQueue.mostPerRush)
        #expect(jobs(after: .milliseconds(2100)).count == SidecarQueue.mostPerShare)
    }

    @Test("progress of uploads does not wait for the files in line")
    func progressInRush() throws {
        show(.seen(path, .uploading))
        useUpCredit()
        for index in 0..<100 { add(.seen(try numbered(index), .queued), after: .zero) }
        add(.seen(try numbered(1000), .done), after: .milliseconds(499))
        #expect(jobs(after: .milliseconds(499)).count == 1 + SidecarQueue.mostPerRush)
        add(.seen(path, .verifying), after: .milliseconds(250))
        #expect(jobs(after: .milliseconds(500)) == ["verifying"])
    }

    @Test(
        "writes few sidecars of uploads of one fragment while files end", arguments: [FileState.uploading, .verifying])
    func shortUploads(state: FileState) throws {
        useUpCredit()
        for index in 0..<100 {
            var report = FileReport.seen(try numbered(index), state)
            report.fragments = .init(total: 1, finished: 0)
            add(report, after: .zero)
        }
        add(.seen(try numbered(1000), .done), after: .milliseconds(250))
        #expect(jobs(after: .milliseconds(250)).count == 1 + SidecarQueue.mostPerRush)
    }

    @Test("keeps a bounded number of entries: writes early if more wait, and forgets written ones")
    func bounded() throws {
        useUpCredit()
        for index in 0..<50_000 {
            add(.seen(try numbered(index), .queued), after: .microseconds(index))
            _ = jobs(after: .microseconds(index))
        }
        #expect(queue.count <= SidecarQueue.mostEntries + 1)
        // A hundred per share.
        for share in 0...100 { _ = jobs(after: .seconds(10) + SidecarQueue.share * share) }
        _ = jobs(after: .seconds(30))
        #expect(queue.count <= SidecarQueue.mostRemembered)
    }

    // MARK: Everything together

    @Test("writes the last report of every path in the end, and nothing that a later order replaced", arguments: 0..<40)
    func walk(seed: UInt64) throws {
        var walk = SidecarWalk(seed: seed, paths: try (0..<6).map(numbered))
        for _ in 0..<400 { walk.step() }
        walk.finish()
        #expect(walk.faults == [])
    }

    // MARK: Support

    /// Names of what is carried out at this time, all of it with success.
    private func jobs(after time: Duration) -> [String] {
        var names: [String] = []
        while let job = queue.next(now: start + time) {
            switch job.order {
            case .write(let sidecar):
                names.append(sidecar.state.word)
                queue.wrote(sidecar, digest: 0, now: start + time)
            case .repair(let sidecar):
                names.append("repair \(sidecar.state.word)")
                queue.wrote(sidecar, digest: nil, now: start + time)
            case .remove: names.append("remove")
            case .discard: names.append("discard")
            }
        }
        return names
    }

    /// Fails the writes that are due at this time.
    private func fail(after time: Duration, atMost limit: Int) {
        for _ in 0..<limit {
            guard case .write(let sidecar)? = queue.next(now: start + time)?.order else { return }
            queue.failed(sidecar, now: start + time)
        }
    }

    private func add(_ report: FileReport, after time: Duration) {
        queue.add(.write(.file(report)), for: .file(report.path), now: start + time)
    }

    private func show(_ report: FileReport) {
        add(report, after: .zero)
        #expect(jobs(after: .zero).count == 1)
    }

    /// Has the first sidecars written that are due at once.
    private func useUpCredit() {
        for index in 0..<SidecarQueue.mostAtOnce {
            guard let path = RelativePath("early-\(index).jpg") else { continue }
            add(.seen(path), after: .zero)
            add(.seen(path, .done), after: .zero)
        }
        #expect(jobs(after: .zero).count == SidecarQueue.mostAtOnce)
    }

    private func numbered(_ index: Int) throws -> RelativePath { try #require(RelativePath("\(index).jpg")) }
}
