import Clocks
import AgentTestSupport
import Foundation
import Ledger
import Logging
import Sidecars
import TestSupport
import Testing

@testable import Agent
@testable import Intake
@testable import UploadCore

/// Nothing here commits: what the core reads beside the ledger are its own decisions.
@Suite("Agent core")
struct AgentCoreTests {
    private let place: TemporaryDirectory
    private let files: OutboxFiles
    private let clock = HandClock()
    private let core: AgentCore
    private let key = ContentKey(high: 1, low: 1)

    init() throws {
        place = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: place.path("outbox/trip"), withIntermediateDirectories: true)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        files = OutboxFiles(root: place.path("outbox"))
        let scope = RemoteScope("test http://127.0.0.1 anna")
        let sources = AgentCore.Sources(
            ledger: try Ledger(directory: place.path("state"), logger: logger, onTrouble: { _ in }), files: files,
            sidecars: SidecarWriter(
                store: SidecarStore(beside: files.outbox), writesRejected: true, clock: clock, logger: logger),
            rules: IntakeRules(mediaOnly: false, maxFileSize: 1 << 30, ignore: []), scope: scope, logger: logger)
        let limits = UploadLimits(filesInFlight: 2, fragmentsInFlight: 2, retryInterval: .seconds(120))
        core = AgentCore(
            sources, rules: PathBook.Rules(retention: .seconds(3600)),
            machine: UploadMachine(
                limits: limits, traits: RemoteTraits(batch: 50, lookahead: 50), scope: scope, seed: 1, window: 100))
        core.book.ownership = Ownership(present: "anna")
        core.posts.ownership = core.book.ownership
    }

    private func handle(_ event: AgentEvent) -> AgentCore.Decision { core.handle([event], now: clock.now) }

    private func write(_ name: String, _ text: String = "text") throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: place.path("outbox/\(name)")))
    }

    /// Passes a new file to the core up to its hash.
    ///
    /// - Returns: the decision on the hash.
    private func hashed(_ name: String, _ text: String = "text") throws -> AgentCore.Decision {
        try write(name, text)
        let path = try #require(RelativePath(name))
        let identity = FileIdentity(try files.status(of: path))
        _ = handle(.path(.seen(path)))
        let ready = handle(.path(.ready(path, identity, objection: nil)))
        let job = try #require(
            ready.atOnce.compactMap { if case .hash(_, _, let job) = $0 { job } else { nil } }.first)
        let content = DropContent(key: key, seal: ContentSeal(size: identity.size, digest: 1))
        let finding = HashFinding.content(identity, MediaType(kind: .image, mime: "image/jpeg"), content, digests: [1])
        return handle(.path(.hashed(path, job: job, as: identity, finding)))
    }

    /// The number of the first request of a decision.
    private func request(_ decision: AgentCore.Decision) throws -> RequestID {
        let id = decision.onceDurable.lazy.compactMap { step -> RequestID? in
            switch step {
            case .request(.register(let id, _)), .request(.send(let id, _, _, _)), .request(.finish(let id, _)): id
            default: nil
            }
        }.first
        return try #require(id, "\(decision.onceDurable)")
    }

    private func words(_ steps: [AgentStep]) -> [String] {
        steps.map { step in
            switch step {
            case .request(.register): "register"
            case .request(.send): "send"
            case .request(.finish): "ask"
            case .report(let paths): "report \(paths.map(\.description).joined(separator: " "))"
            case .reportUploads: "report uploads"
            case .endUpload: "end upload"
            case .retire(let path): "retire \(path)"
            case .count: "count"
            case .examine(let path): "examine \(path)"
            case .handle(.tellPost(let path)): "tell the post of \(path)"
            case .reportPost(let directory): "report post \(directory)"
            case .readDescription(let directory): "read \(directory)"
            default: "\(step)"
            }
        }
    }

    @Test(
        "stores a hashed file and its upload in one commit, and registers once it is durable", arguments: [false, true])
    func oneCommit(isOfOneBlock: Bool) throws {
        let size = Int(ContentSeal.blockSize) + (isOfOneBlock ? 0 : 1)
        let decision = try hashed("a.jpg", String(repeating: "a", count: size))
        let stored = decision.writes.map { write in
            switch write {
            case .drop(let record): "drop \(record.path) \(record.state)"
            case .upload: "upload"
            case .digests: "digests"
            default: "\(write)"
            }
        }
        #expect(Set(stored) == Set(["drop a.jpg queued", "upload"] + (isOfOneBlock ? [] : ["digests"])))
        #expect(words(decision.onceDurable).contains("register"))
        #expect(!words(decision.atOnce).contains("register"))
        #expect(!decision.isAside)
    }

    @Test("sees its own decisions before they are durable, and the ledger afterwards")
    func unsaved() throws {
        let decision = try hashed("a.jpg")
        let path = try #require(RelativePath("a.jpg"))
        #expect(core.stored.record(of: path)?.state == .queued)
        core.saved(decision)
        #expect(core.stored.record(of: path) == nil, "the test commits nothing")
    }

    @Test("ends a path in the commit of the server's confirmation")
    func confirmed() throws {
        let registering = try hashed("a.jpg")
        let sending = handle(
            .uploads([.registered(try request(registering), key, RemoteHandle(id: "7"), .asRecorded)]))
        let asking = handle(
            .uploads([
                .acknowledged(try request(sending), key, fragment: 0, receipt: nil, took: .milliseconds(1))
            ]))
        let end = handle(
            .uploads([.finished(try request(asking), key, .confirmed(RemoteObject(id: "7", url: nil)))]))
        let path = try #require(RelativePath("a.jpg"))
        let record = end.writes.lazy.compactMap { if case .drop(let record) = $0 { record } else { nil } }.first
        #expect(record?.path == path)
        #expect(record?.state == .done)
        #expect(end.writes.contains { if case .confirmation = $0 { true } else { false } })
        #expect(words(end.atOnce) == ["count"])
        #expect(words(end.onceDurable).prefix(3) == ["report a.jpg", "end upload", "retire a.jpg"])
        #expect(core.book.drops.isEmpty)
    }

    @Test("appends a row to the journal in the commit that ends a path, and no second one when more is known of it")
    func journal() throws {
        let path = try #require(RelativePath("a.jpg"))
        func rows(_ decision: AgentCore.Decision) -> [JournalRow] {
            decision.outcomes.map(\.row)
        }
        let registering = try hashed("a.jpg")
        #expect(rows(registering).isEmpty)
        let sending = handle(
            .uploads([.registered(try request(registering), key, RemoteHandle(id: "7"), .asRecorded)]))
        let asking = handle(
            .uploads([.acknowledged(try request(sending), key, fragment: 0, receipt: nil, took: .milliseconds(1))]))
        let url = "http://127.0.0.1/f/7"
        let end = handle(
            .uploads([.finished(try request(asking), key, .confirmed(RemoteObject(id: "7", url: url)))]))
        let row = try #require(rows(end).first)
        #expect(rows(end).count == 1)
        #expect(row.path == path && row.outcome == .done && row.subject == .file && row.key == key)
        #expect(row.remote.url == url && row.type == "image/jpeg" && row.size == 4)
        #expect(row.time == clock.now.wall)
        #expect(rows(handle(.learned(MediaFacts(width: 4, height: 3), key, isAll: true))).isEmpty)
        clock.advance(by: .seconds(1))
        // A rename keeps the outcome, and says where the file is now.
        let new = try #require(RelativePath("b.jpg"))
        try FileManager.default.moveItem(atPath: place.path("outbox/a.jpg"), toPath: place.path("outbox/b.jpg"))
        let renamed = handle(.path(.renamed(path, to: new)))
        #expect(rows(renamed).isEmpty)
        #expect(renamed.writes.contains(.place(path, now: new)))
    }

    @Test("tells posts of a hashed file first, so that a draft holds the file before it is sent")
    func draft() throws {
        let directory = try #require(RelativePath("trip"))
        try write("trip/source.toml", "title = \"t\"\nstate = \"draft\"\n")
        let description = PostPlaces.description(of: directory)
        let settled = handle(.posts(.ready(description, FileIdentity(try files.status(of: description)))))
        #expect(words(settled.atOnce).contains("read trip"))
        _ = handle(.posts(.read(directory, .success(SourceDescription(title: "t", isDraft: true)))))
        let decision = try hashed("trip/a.jpg")
        #expect(!words(decision.onceDurable).contains("register"))
        #expect(words(decision.onceDurable).contains("tell the post of trip/a.jpg"))
        #expect(core.machine.isPaused(try #require(RelativePath("trip/a.jpg")), of: key) == true)
    }

    @Test("takes what is learned about a content aside, since no later decision needs it")
    func learned() throws {
        _ = try hashed("a.jpg")
        let decision = handle(.learned(MediaFacts(width: 3, height: 2), key, isAll: true))
        #expect(decision.isAside)
        #expect(decision.writes.count == 1)
        #expect(words(decision.atOnce) == ["report a.jpg"])
        #expect(decision.onceDurable.isEmpty)
    }

    @Test("answers a user who acts on a file that is gone")
    func refused() throws {
        let path = try #require(RelativePath("no.jpg"))
        #expect(handle(.path(.act(.retry, path, isByName: true))).refusal != nil)
        #expect(handle(.path(.seen(path))).refusal == nil)
    }

    @Test("decides nothing at a tick that nothing waits for")
    func tick() {
        let decision = handle(.tick)
        #expect(decision.writes.isEmpty)
        #expect(decision.atOnce.isEmpty)
        #expect(decision.onceDurable.isEmpty)
        #expect(core.nextDeadline(after: clock.now.monotonic) == nil)
    }
}
