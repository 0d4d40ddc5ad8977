import AgentTestSupport
import Foundation
@testable import Intake
import Ledger
import LinuxSystem
import Logging
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import Sidecars

/// A state of outbox and ledger in which every question has a fixed answer.
private struct FixedFacts: StrayFacts {
    var isWholeOutbox = true
    var lostMounts: Set<RelativePath> = []
    var busy: Set<RelativePath> = []
    var records: [DropRecord] = []
    var posts: Set<RelativePath> = []
    var present: Set<RelativePath> = []

    func isBusy(_ path: RelativePath) -> Bool { busy.contains(path) }
    func hasRecord(_ path: RelativePath) -> Bool { records.contains { $0.path == path } }
    func isPost(_ directory: RelativePath) -> Bool { posts.contains(directory) }
    func isInPost(_ directory: RelativePath) -> Bool { directory != .root && posts.contains(directory.parent) }
    func isGone(_ path: RelativePath) -> Bool { !present.contains(path) }
}

@Suite("Strays")
struct StraySearchTests {
    private let path: RelativePath
    private let post: RelativePath
    private let ofFile: StraySidecar
    private let ofPost: StraySidecar

    init() throws {
        path = try #require(RelativePath("trip/a.jpg"))
        post = try #require(RelativePath("post"))
        ofFile = StraySidecar(directory: path.parent, name: [1], subject: .file(path))
        ofPost = StraySidecar(directory: post, name: [2], subject: .source(post))
    }

    private func steps(_ strays: [StraySidecar], _ change: (inout FixedFacts) -> Void = { _ in }) -> [StraySearch.Step]
    {
        var facts = FixedFacts()
        change(&facts)
        return StraySearch.steps(for: strays, facts)
    }

    @Test("are removed if neither file nor record exists")
    func discards() {
        let temporary = StraySidecar(directory: .root, name: [3])
        #expect(
            steps([ofFile, ofPost, temporary]) == [.discard(ofFile), .discard(ofPost), .discard(temporary)])
    }

    @Test("stay while their file or post is known, present or busy")
    func keeps() {
        #expect(steps([ofFile]) { $0.busy = [path] } == [])
        #expect(steps([ofFile]) { $0.present = [path] } == [])
        #expect(
            steps([ofFile]) {
                $0.records = [DropRecord(path: path, state: .done, acceptedAt: WallTime(milliseconds: 0))]
            } == [])
        #expect(steps([ofPost]) { $0.posts = [post] } == [])
        #expect(steps([ofPost]) { $0.busy = [post] } == [])
        #expect(steps([ofPost]) { $0.present = [PostPlaces.description(of: post)] } == [])
    }

    @Test("all stay while the outbox is missing or another one")
    func otherOutbox() {
        let temporary = StraySidecar(directory: .root, name: [3])
        #expect(steps([ofFile, ofPost, temporary]) { $0.isWholeOutbox = false } == [])
    }

    @Test("of an unfinished file turn into the sidecar of a removed file, once")
    func unfinished() {
        var stray = ofFile
        stray.isUnfinished = true
        #expect(steps([stray, ofFile, stray]) == [.cancelRemoved(path)])
    }

    @Test("of a post that was moved into another post are removed, although its description is there")
    func movedIntoPost() throws {
        let inner = try #require(RelativePath("post/inner"))
        let sidecar = StraySidecar(directory: inner, name: [2], subject: .source(inner))
        let description = PostPlaces.description(of: inner)
        #expect(steps([sidecar]) { $0.present = [description] } == [])
        #expect(steps([sidecar]) { ($0.present, $0.posts) = ([description], [post]) } == [.discard(sidecar)])
        #expect(steps([sidecar]) { ($0.present, $0.posts) = ([description], [post, inner]) } == [])
    }

    @Test("entries expire if their file is gone, their retention is over, and nobody works on their path")
    func expired() throws {
        var record = DropRecord(path: path, state: .done, acceptedAt: WallTime(milliseconds: 0))
        record.finishedAt = WallTime(milliseconds: 0)
        record.disposal = .deleted
        let (early, late) = (WallTime(milliseconds: 500), WallTime(milliseconds: 1000))
        func expired(_ now: WallTime, _ change: (inout FixedFacts) -> Void = { _ in }) -> [RelativePath] {
            var facts = FixedFacts()
            change(&facts)
            return facts.expired([record], at: now, Retention(length: .seconds(1)))
        }
        #expect(expired(late) == [path])
        #expect(expired(early) == [])
        #expect(expired(late) { $0.isWholeOutbox = false } == [])
        #expect(expired(late) { $0.busy = [path] } == [])
        #expect(expired(late) { $0.present = [path] } == [])
        record.disposal = nil
        #expect(expired(early) == [path], "an entry without an outcome to show expires with its file")
        record.state = .queued
        #expect(expired(late) == [])
    }

    @Test("were written to the places in the ledger, which earlier versions do not name")
    func formerPlaces() {
        func former(_ stored: String?, _ present: String?) -> [String] {
            SidecarPlaces(stored: stored.map { Array($0.utf8) }, present: present).former
        }
        #expect(former(nil, nil) == [])
        #expect(former(nil, "/b") == [""])
        #expect(former("", nil) == [])
        #expect(former("", "/b") == [""])
        #expect(former("/a", nil) == ["/a"])
        #expect(former("/a", "/b") == ["/a"])
        #expect(former("/b", "/b") == [])
        #expect(former("\0/a\0/b", "/c") == ["", "/a", "/b"])
        #expect(former("/b\0", "/b") == [""])
        #expect(SidecarPlaces(stored: Array("/a\0/b".utf8), present: "/a").bytes == Array("/b\0/a".utf8))
    }
}

@Suite("The search for strays", .timeLimit(.minutes(1)))
struct StraySearchOnDiskTests {
    private let place: TemporaryDirectory
    private let ledger: Ledger
    private let search: StraySearch
    private let news: AsyncStream<StraySearch.News>

    init() throws {
        place = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: place.path("outbox"), withIntermediateDirectories: true)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ledger = try Ledger(directory: place.path("state"), logger: logger, onTrouble: { _ in })
        let files = OutboxFiles(root: place.path("outbox"))
        let sidecars = SidecarWriter(
            store: SidecarStore(beside: files.outbox), writesRejected: true, clock: HandClock(), logger: logger)
        let (stream, continuation) = AsyncStream<StraySearch.News>.makeStream()
        news = stream
        search = StraySearch(
            StraySearch.Parts(
                sidecars: sidecars, files: files, rules: IntakeRules(mediaOnly: false, maxFileSize: 1, ignore: []),
                ledger: ledger, reader: SerialThread(name: "reader"), logger: logger),
            report: { continuation.yield($0) })
        search.mayLeaveFormerPlaces = true
    }

    private func next() async throws -> StraySearch.News { try #require(await news.first { _ in true }) }

    private func leaveTemporaryFiles(_ count: Int) throws {
        for number in 0..<count {
            let name = String(decoding: SidecarName.temporary(UInt32(number)), as: UTF8.self)
            try Data().write(to: URL(fileURLWithPath: place.path("outbox/\(name)")))
        }
    }

    @Test("hands over many strays in several turns, and runs once at a time")
    func turns() async throws {
        try leaveTemporaryFiles(300)
        search.begin(FixedFacts())
        search.begin(FixedFacts())
        #expect(search.handle(try await next(), FixedFacts()).count == 256)
        let rest = search.handle(try await next(), FixedFacts())
        #expect(rest.count == 44)
        search.begin(FixedFacts())
        guard case .found(let again) = try await next() else {
            Issue.record("another search must have begun")
            return
        }
        #expect(again.count == 300, "nothing removed them")
    }

    @Test("removes nothing if the outbox was exchanged meanwhile")
    func exchanged() async throws {
        try leaveTemporaryFiles(1)
        search.begin(FixedFacts())
        #expect(search.handle(try await next(), FixedFacts(isWholeOutbox: false)) == [])
        search.begin(FixedFacts(isWholeOutbox: false))
        search.begin(FixedFacts())
        #expect(!search.handle(try await next(), FixedFacts()).isEmpty)
    }

    @Test("clears all former trees of sidecars, then stores the present place")
    func formerPlaces() async throws {
        let former = ["first", "second"].map { place.path($0) }
        for root in former { try leaveSidecar(below: root) }
        // The first run with another place ended before it could remove the sidecars at the first place, and so on.
        await ledger.commit([.setting(LedgerSetting.sidecarPlaces, Array(former[0].utf8))])
        await ledger.commit([
            .setting(LedgerSetting.sidecarPlaces, places(in: ledger, present: former[1])?.bytes)
        ])
        await ledger.commit([try search.recordOfPlaces()])
        search.mayLeaveFormerPlaces = false
        search.begin(FixedFacts())
        #expect(search.handle(try await next(), FixedFacts()) == [])
        #expect(former.allSatisfy(hasSidecar), "sidecars may still be missing at the present place")
        search.mayLeaveFormerPlaces = true
        search.begin(FixedFacts())
        #expect(search.handle(try await next(), FixedFacts()) == [])
        guard case .leftFormerPlaces = try await next() else {
            Issue.record("the former trees must have been searched")
            return
        }
        #expect(!former.contains(where: hasSidecar))
        #expect(places(in: ledger, present: nil)?.former == former, "until the ledger knows that they are gone")
        let write = LedgerWrite.setting(LedgerSetting.sidecarPlaces, [])
        #expect(search.handle(.leftFormerPlaces, FixedFacts()) == [.write(write)])
    }

    private func places(in ledger: Ledger, present: String?) -> SidecarPlaces? {
        (try? ledger.setting(LedgerSetting.sidecarPlaces)).map { SidecarPlaces(stored: $0, present: present) }
    }

    private func leaveSidecar(below root: String) throws {
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        let text = "{\n  \"version\": 1,\n  \"path\": \"a.jpg\",\n  \"state\": \"done\"\n}\n"
        try Data(text.utf8).write(to: sidecar(below: root))
    }

    private func hasSidecar(below root: String) -> Bool {
        FileManager.default.fileExists(atPath: sidecar(below: root).path)
    }

    private func sidecar(below root: String) -> URL { URL(fileURLWithPath: root + "/a.jpg.outbox.json") }
}
