import Testing

@testable import UploadCore

/// The outcome for a path, by its state and the event.
@Suite("Every state of a path with every event")
struct PathTableTests {
    /// The state of a path.
    enum Standing: String, CaseIterable {
        case unknown, settling, hashing, queued, backlog, paused, done, failed, cancelled, removed, rejected, parked
    }

    /// The events.
    enum Happening: String, CaseIterable {
        case seen, ready, touched, rewritten, replaced, gone, moved, lookAgain
        case pause, resume, cancel, retry, first
    }

    // The state afterwards; h: the agent hashes the file, s: the file settles, j: the path joins an upload, l: the
    // path leaves an upload, x: the record is deleted, !: the user learns why nothing was done.
    private static let table = """
                      seen          ready         touched       rewritten     replaced      gone          moved         lookAgain     pause         resume        cancel        retry         first
        unknown       settling      hashing h     hashing h     hashing h     hashing h     -             -             -             - !           - !           - !           - !           - !
        settling      settling      hashing h     hashing h     hashing h     hashing h     removed       settling s    settling s    settling      settling !    cancelled     settling !    settling
        hashing       hashing       hashing       hashing h     hashing h     hashing h     hashing       settling s    settling s    hashing       hashing !     cancelled     hashing !     hashing
        queued        queued        queued        queued h      queued h      queued h      removed l     queued        settling s    paused        queued !      cancelled l   queued        queued
        backlog       queued        queued        queued h      queued h      queued h      removed l     queued        settling s    paused        queued !      cancelled l   queued        queued
        paused        paused        paused        paused h      paused h      paused h      removed l     paused        settling s    paused !      queued        cancelled l   paused !      paused
        done          done          done          done h        hashing h     hashing h     - x           done          done          done !        done !        done !        done !        done !
        failed        failed        hashing h     hashing h     hashing h     hashing h     removed       settling s    failed        failed !      failed !      cancelled     settling s    failed !
        cancelled     cancelled     cancelled     cancelled     hashing h     hashing h     cancelled     cancelled     cancelled     cancelled !   cancelled !   cancelled !   settling s    cancelled !
        removed       settling      hashing h     hashing h     hashing h     hashing h     removed       removed s     removed       removed !     removed !     removed !     settling s    removed !
        rejected      rejected      hashing h     hashing h     hashing h     hashing h     - x           rejected      rejected      rejected !    rejected !    rejected !    settling s    rejected !
        parked        queued        queued        queued h      queued h      queued h      removed       queued        settling s    paused        queued !      cancelled     queued !      queued !
        """

    @Test("has the outcome in the table")
    func table() {
        var lines = [([""] + Happening.allCases.map(\.rawValue)).map(Self.cell).joined()]
        for standing in Standing.allCases {
            let cells = Happening.allCases.map { Self.outcome(of: $0, in: standing) }
            lines.append(([standing.rawValue] + cells).map(Self.cell).joined())
        }
        let text = lines.map { $0.trimmingSuffix(while: { $0 == " " }) }.joined(separator: "\n")
        #expect(text == Self.table)
    }

    private static func cell(_ text: String) -> String {
        text + String(repeating: " ", count: max(1, 14 - text.count))
    }

    // MARK: Standing there

    private static let path: RelativePath = "a"

    private static func stage(_ standing: Standing) -> PathStage {
        var stage = PathStage(window: standing == .backlog ? 0 : 1_000)
        stage.handle(.scanned(PathFindings(paths: [])))
        if standing == .unknown {
            stage.files[path] = nil
            stage.write(path, 1)
            stage.news = []
            return stage
        }
        stage.write(path, 1)
        stage.news = []
        let identity =
            stage.files[path]?.identity
            ?? FileIdentity(
                device: 0, inode: 0, size: 0, modified: 0, changed: 0, born: 0)
        stage.handle(.seen(path))
        if standing == .settling { return stage }
        let objection = FileError(code: "too_large", message: "too large", retryable: false)
        // The file is read long enough after its last change.
        stage.pass(.seconds(5))
        stage.handle(.ready(path, identity, objection: standing == .rejected ? objection : nil))
        if standing == .hashing || standing == .rejected { return stage }
        if standing == .failed {
            let unreadable = FileError(code: "unreadable", message: "can't be read", retryable: false)
            stage.hashes = []
            stage.handle(.hashed(path, job: 1, as: identity, .unreadable(unreadable)))
            return stage
        }
        stage.hash()
        switch standing {
        case .paused: stage.act(.pause, on: path)
        case .done: stage.confirm(PathStage.key(1))
        case .cancelled: stage.act(.cancel, on: path)
        case .removed:
            let file = stage.files[path]
            stage.remove(path)
            stage.tellNext()
            stage.pass(.seconds(3))
            stage.tick()
            stage.files[path] = file
        case .parked: stage.restart(as: "ben")
        default: break
        }
        stage.news = []
        stage.hashes = []
        return stage
    }

    // MARK: Happening

    private static func outcome(of happening: Happening, in standing: Standing) -> String {
        var stage = stage(standing)
        let known = stage.record(path) != nil
        let waited = stage.waiters.values.contains { $0[path] != nil }
        let hashed = stage.hashes.count
        var end = path
        var refusal: String?
        switch happening {
        case .seen: stage.handle(.seen(path))
        case .ready: ready(&stage)
        case .touched:
            stage.files[path]?.identity.changed += 1_000_000_007
            ready(&stage)
        case .rewritten:
            stage.write(path, 2)
            stage.news = []
            ready(&stage)
        case .replaced:
            stage.write(path, 2, inPlace: false)
            stage.news = []
            ready(&stage)
        case .gone:
            stage.remove(path)
            stage.tellNext()
            stage.pass(.seconds(3))
            stage.tick()
        case .moved:
            stage.rename(path, to: "b")
            end = "b"
            stage.news = []
            stage.handle(.renamed(path, to: end))
        case .lookAgain: stage.handle(.lookAgain(path))
        case .pause: refusal = stage.act(.pause, on: path)
        case .resume: refusal = stage.act(.resume, on: path)
        case .cancel: refusal = stage.act(.cancel, on: path)
        case .retry: refusal = stage.act(.retry, on: path)
        case .first: refusal = stage.act(.first, on: path)
        }
        let waits = stage.waiters.values.contains { $0[path] != nil || $0[end] != nil }
        var text = stage.record(end).map { $0.wasRemoved ? "removed" : $0.state.rawValue } ?? "-"
        if stage.hashes.count > hashed { text += " h" }
        if stage.news.contains(where: { if case .settled = $0 { true } else { false } }) { text += " s" }
        if waits, !waited { text += " j" }
        if waited, !waits { text += " l" }
        if known, stage.record(path) == nil, happening != .moved { text += " x" }
        if refusal != nil { text += " !" }
        return stage.problem ?? text
    }

    private static func ready(_ stage: inout PathStage) {
        guard let identity = stage.files[path]?.identity else { return }
        stage.handle(.ready(path, identity, objection: nil))
    }
}

extension String {
    func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> String {
        var text = self
        while let last = text.last, isTrimmed(last) { text.removeLast() }
        return text
    }
}

/// The findings of a scan.
struct PathFindings: ScanFindings {
    var paths: Set<RelativePath>
    var isWhole: Bool { true }
    var knownCount: Int { 0 }

    func contains(_ path: RelativePath) -> Bool { paths.contains(path) }
    func found(_ path: RelativePath) -> Bool { paths.contains(path) }
}
