import Foundation
import Ledger
import LinuxSystem
import SystemPackage
import TestSupport
import Testing

@testable import Agent
@testable import FileWatch
@testable import UploadCore

@Suite("Watch intake")
struct WatchIntakeTests {
    /// The facts of a test. Every `source.toml` is the description of a post.
    private struct Facts: WatchFacts {
        var hasPosts = false
        var mayFollow = false
        var hasScanned = true
        var outboxIsLost = false
        var isDirectory = false
        var isDiskFull = false
        var known: [RelativePath] = []

        var descriptions: [RelativePath] { known.filter(isDescription) }
        var outboxPath: String { "/outbox" }
        func isDescription(_ path: RelativePath) -> Bool { PostPlaces.directory(of: path) != nil }
        func page(within directory: RelativePath, from position: DropPosition) -> (
            paths: [RelativePath], next: DropPosition?
        ) { (known.filter { $0.isWithin(directory) }, nil) }
        func look(at path: RelativePath) -> FileLook {
            let file = FileIdentity(device: 1, inode: 1, size: 1, modified: 1, changed: 1, born: 1)
            return .there(isDirectory ? .directory : .regular, file)
        }
        func objection(toSize size: UInt64) -> FileError? {
            size == 0 ? FileError(code: "empty", message: "", retryable: false) : nil
        }
    }

    private func path(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }

    /// Returns the status of a file with these bytes.
    private func status(_ bytes: [UInt8]) throws -> FileStatus {
        let place = try TemporaryDirectory()
        try Data(bytes).write(to: URL(fileURLWithPath: place.path("file")))
        return try FileStatus(path: place.path("file"))
    }

    /// Returns the steps of an event and of all renames that follow, in words.
    private func steps(_ event: WatchEvent, _ facts: Facts = Facts()) -> [String] {
        var intake = WatchIntake()
        var steps = intake.take(event, facts)
        while let more = intake.nextMove(facts) { steps += more }
        return steps.map(words)
    }

    private func words(_ step: AgentStep) -> String {
        switch step {
        case .handle(.path(let event)): "path " + words(event)
        case .handle(.posts(let event)): "posts " + words(event)
        case .handle(.uploads([.networkChanged])): "networkChanged"
        case .handle(.scanFound): "scanFound"
        case .handle(.retireStuck): "retireStuck"
        case .problem(let problem, let message): "problem \(problem) \(message ?? "ends")"
        case .log(let level, _, let metadata): "log \(level) \(metadata["path"] ?? "-")"
        default: "\(step)"
        }
    }

    private func words(_ event: PathEvent) -> String {
        switch event {
        case .seen(let path): "seen \(path)"
        case .ready(let path, _, let objection): "ready \(path) \(objection?.code ?? "-")"
        case .odd(let path, _, let error): "odd \(path) \(error.code)"
        case .unreadable(let path, _, let error): "unreadable \(path) \(error.code)"
        case .gone(let path): "gone \(path)"
        case .renamed(let old, let new): "renamed \(old) \(new)"
        case .scanned: "scanned"
        case .mountLost(let path): "mountLost \(path)"
        case .mounted(let path, let isSame, let descriptions): "mounted \(path) \(isSame) \(descriptions.count)"
        case .outboxLost: "outboxLost"
        case .outboxBack(let isSame, let descriptions): "outboxBack \(isSame) \(descriptions.count)"
        default: "\(event)"
        }
    }

    private func words(_ event: PostsEvent) -> String {
        switch event {
        case .seen(let path): "seen \(path)"
        case .ready(let path, _): "ready \(path)"
        case .odd(let path): "odd \(path)"
        case .gone(let path): "gone \(path)"
        case .renamed(let old, let new, let isDirectory): "renamed \(old) \(new) \(isDirectory)"
        case .expected(let path): "expected \(path)"
        case .scanned: "scanned"
        case .outboxLost: "outboxLost"
        case .outboxBack(let isSame): "outboxBack \(isSame)"
        default: "\(event)"
        }
    }

    // MARK: Files

    @Test("passes events of a file to the path book, and to posts if there are any", arguments: [false, true])
    func files(hasPosts: Bool) throws {
        let a = try path("d/a")
        let facts = Facts(hasPosts: hasPosts)
        let table: [(WatchEvent, [String])] = [
            (.seen(a), ["posts seen d/a", "path seen d/a"]),
            (.ready(a, try status([1])), ["posts ready d/a", "path ready d/a -"]),
            (.ready(a, try status([])), ["posts ready d/a", "path ready d/a empty"]),
            (.odd(a, try FileStatus(path: "/dev/null")), ["posts odd d/a", "path odd d/a not_regular_file"]),
            (.unreadable(a, .permissionDenied), ["posts odd d/a", "path unreadable d/a unreadable"]),
            (.gone(a), ["posts gone d/a", "path gone d/a"]),
        ]
        for (event, all) in table {
            #expect(steps(event, facts) == all.filter { hasPosts || $0.hasPrefix("path") })
        }
    }

    @Test("names a file that was written while the disk of the outbox was full")
    func fullDisk() throws {
        let event = WatchEvent.ready(try path("a"), try status([1]))
        #expect(steps(event, Facts(isDiskFull: true)) == ["path ready a -", "log warning a"])
        #expect(steps(event, Facts()) == ["path ready a -"])
    }

    @Test("passes events of a source.toml to posts alone")
    func descriptions() throws {
        let (file, old) = (try path("d/source.toml"), try path("d/.tmp"))
        let facts = Facts(mayFollow: true)
        let table: [(WatchEvent, [String])] = [
            (.seen(file), ["posts seen d/source.toml"]),
            (.ready(file, try status([1])), ["posts ready d/source.toml"]),
            (.unreadable(file, .permissionDenied), ["posts odd d/source.toml"]),
            (.gone(file), ["posts gone d/source.toml"]),
            (.renamed(from: old, to: file, isDirectory: false), ["posts renamed d/.tmp d/source.toml false"]),
        ]
        for (event, all) in table { #expect(steps(event, facts) == all) }
    }

    @Test("looks for the post of a settled file that a wish may follow")
    func followed() throws {
        let event = WatchEvent.ready(try path("d/a"), try status([1]))
        #expect(steps(event, Facts(mayFollow: true)) == ["posts expected d/a", "path ready d/a -"])
        #expect(
            steps(event, Facts(hasPosts: true, mayFollow: true)) == [
                "posts ready d/a", "posts expected d/a", "path ready d/a -",
            ])
    }

    @Test("an unreadable directory is a log line")
    func directory() throws {
        #expect(steps(.unreadable(try path("d"), .permissionDenied), Facts(isDirectory: true)) == ["log warning d"])
        #expect(steps(.unlistable(try path("d"), .socketNotConnected), Facts()) == ["log warning d"])
    }

    // MARK: Renames

    @Test("renames a file under its new name")
    func rename() throws {
        let event = WatchEvent.renamed(from: try path("a"), to: try path("b"), isDirectory: false)
        #expect(steps(event) == ["posts expected b", "path renamed a b"])
    }

    @Test("renames the files of a directory one after the other, after its post")
    func directoryRename() throws {
        let known = [try path("d/a"), try path("d/e/b"), try path("x")]
        let facts = Facts(hasPosts: true, known: known)
        let event = WatchEvent.renamed(from: try path("d"), to: try path("n"), isDirectory: true)
        var intake = WatchIntake()
        let first = intake.take(event, facts).map(words)
        #expect(first == ["posts renamed d n true"])
        let heard = BoundedQueue<WatchEvent>(capacity: 8)
        _ = heard.add([.seen(try path("y"))])
        var all: [[String]] = []
        while let steps = intake.next(from: heard, facts) { all.append(steps.map(words)) }
        #expect(
            all == [
                ["posts expected n/e/b", "path renamed d/e/b n/e/b"], ["posts expected n/a", "path renamed d/a n/a"],
                ["posts seen y", "path seen y"],
            ])
    }

    @Test("a renamed directory without known files changes nothing")
    func emptyDirectory() throws {
        let event = WatchEvent.renamed(from: try path("d"), to: try path("n"), isDirectory: true)
        #expect(steps(event) == [])
    }

    // MARK: Scans

    @Test("a scan ends a watch limit, searches a former outbox, and retries files that could not leave")
    func scan() {
        #expect(
            steps(.scanned(ScanSummary())) == [
                "problem watch ends", "scanFound", "retireStuck", "path scanned", "posts scanned", "forgetNotice",
                "searchStrays", "checkLedger", "trimJournal",
            ])
    }

    @Test("the first scan also searches for unused thumbnails")
    func firstScan() {
        let first = steps(.scanned(ScanSummary()), Facts(hasScanned: false))
        #expect(first.contains("sweepThumbnails"))
        #expect(!steps(.scanned(ScanSummary())).contains("sweepThumbnails"))
    }

    @Test("a scan of a missing outbox moves and removes nothing")
    func lostScan() {
        var summary = ScanSummary()
        summary.unwatched = 1
        #expect(steps(.scanned(summary), Facts(outboxIsLost: true)) == ["path scanned", "posts scanned"])
    }

    // MARK: Limits and losses

    @Test("reports a limit of the kernel as a problem")
    func limit() throws {
        let limit = WatchLimit(.watches, at: try path("d")) { _ in nil }
        #expect(steps(.watchLimit(limit)) == ["problem watch \(limit.reason); \(limit.remedy)", "log warning -"])
        #expect(steps(.overflowed) == ["log warning -"])
    }

    @Test("follows lost and returned mounts")
    func mounts() throws {
        let facts = Facts(known: [try path("m/source.toml")])
        #expect(steps(.mountLost(try path("m")), facts) == ["path mountLost m", "log warning m"])
        #expect(
            steps(.mounted(try path("m"), isSame: false), facts) == [
                "path mounted m false 1", "log notice m", "networkChanged",
            ])
    }

    @Test("a missing outbox is a problem until the same directory is back")
    func outbox() {
        #expect(
            steps(.rootLost(reason: "unmounted")) == [
                "path outboxLost", "posts outboxLost", "problem outbox the outbox is gone: unmounted", "log error -",
            ])
        #expect(
            steps(.rootBack(isSame: true)) == [
                "path outboxBack true 0", "posts outboxBack true", "problem outbox ends", "recoverHeldFiles",
                "log notice -", "networkChanged",
            ])
    }

    @Test("lets go of the former outbox first if another directory is back")
    func otherOutbox() {
        #expect(
            steps(.rootBack(isSame: false)).prefix(3) == [
                "leaveOutbox", "path outboxBack false 0", "posts outboxBack false",
            ])
    }
}
