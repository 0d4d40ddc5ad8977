import AgentConfiguration
import AgentTestSupport
import ControlAPI
import Digests
import FileWatch
import Foundation
import Ledger
import LinuxSystem
import Logging
import MediaTools
import Products
import Reports
import Session
import Sidecars
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Agent
@testable import Intake
@testable import UploadCore

/// An uploader with a ledger and an outbox of its own, but no watch: the test sends the events.
final class Bench: Sendable {
    let place: TemporaryDirectory
    let remote: ScriptedRemote
    let clock: HandClock
    let ledger: Ledger
    let uploader: Uploader
    let backend: AgentBackend
    private let sidecars: SidecarWriter
    /// The paths that the uploader sent back to settle.
    let reconsidered = Mutex<[RelativePath]>([])
    /// Whether a file sent back to settle is reported as ready, or as gone if missing, at once.
    private let settlesAtOnce: Bool

    var outbox: String { place.path("outbox") }

    /// Creates a bench. With the `place` of another bench, it is the next run of the same agent.
    init(
        place: TemporaryDirectory? = nil, remote: ScriptedRemote = ScriptedRemote(),
        clock: HandClock = .ahead(by: .seconds(3600)),
        settlesAtOnce: Bool = true, afterUpload: Configuration.AfterUpload = .keep,
        media: (any MediaExamining)? = nil, examinationRoom: Int = 1000, account: String = "default",
        window: Int = Uploader.window, recipes: Recipes = Recipes(), step: (any ProductStep)? = nil,
        storedProducts: UInt64 = .max, beforeOpening: @escaping @Sendable () -> Void = {}
    ) async throws {
        self.place = try place ?? TemporaryDirectory()
        self.remote = remote
        self.clock = clock
        self.settlesAtOnce = settlesAtOnce
        let outbox = self.place.path("outbox")
        try FileManager.default.createDirectory(atPath: outbox, withIntermediateDirectories: true)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ledger = try Ledger(directory: self.place.path("state"), logger: logger, onTrouble: { _ in })
        let secret = try #require(DigestSecret(try ledger.digestSecret()))
        let files = OutboxFiles(root: outbox)
        let rules = IntakeRules(mediaOnly: false, maxFileSize: 1 << 30, ignore: [], moveTo: RelativePath("Sent"))
        sidecars = SidecarWriter(
            store: SidecarStore(beside: files.outbox), writesRejected: true, clock: clock, logger: logger)
        let hashPool = HashPool(
            files: files, rules: rules, secret: secret, threads: 2, withSHA256: afterUpload != .keep)
        let productFolder = self.place.path("products")
        let products = step.map { step in
            ProductMaker(
                ProductMaker.Parts(
                    folder: ContentFolder(products: productFolder),
                    conversions: [.image: step, .video: step], remover: step,
                    open: {
                        beforeOpening()
                        return files.open($0, ifStill: $1)
                    },
                    hash: { await hashPool.hash($0) }, measure: { _, _ in MediaFacts(width: 4, height: 3) }))
        }
        let parts = Uploader.Parts(
            ledger: ledger, acknowledgements: try AcknowledgementLog(path: self.place.path("acknowledged")),
            remote: remote, files: files, rules: rules, holding: HoldingArea(root: files.outbox),
            afterUpload: afterUpload,
            moveTo: try #require(RelativePath("Sent")),
            hashPool: hashPool, secret: secret,
            sidecars: sidecars,
            media: media, products: products, recipes: recipes,
            productLimits: ProductQueue.Limits(pictures: 2, storedBytes: storedProducts),
            examinationRoom: examinationRoom, sources: remote,
            events: EventHub(clock: clock, ledger: "ledger", outcome: 0),
            session: SessionKeeper(
                Credentials(
                    environmentToken: nil, tokenFile: nil, stateDirectory: self.place.path("state"), mayTravel: true),
                account: Account(
                    name: account, session: SessionStore(stateDirectory: self.place.path("state")), change: {})),
            retention: .seconds(3600),
            remoteProtocol: "test", version: "0", processID: 1, clock: clock, logger: logger)
        let limits = UploadLimits(filesInFlight: 2, fragmentsInFlight: 2, retryInterval: .seconds(120))
        uploader = Uploader(parts: parts, limits: limits, seed: 1, window: window)
        backend = AgentBackend(
            uploader: uploader, ledger: ledger, session: parts.session, events: parts.events,
            watchCounters: { WatchCounters() }, clock: clock, logger: logger)
        try await uploader.start(reconsider: { [weak self] in self?.reconsider($0) })
    }

    deinit { remote.release() }

    /// Ends the run like a kill: nothing more reaches the disk.
    func kill() async {
        ledger.close()
        uploader.beginToEnd()
        // The remote may answer later. A killed agent writes no sidecars then.
        await uploader.fallSilent()
        sidecars.forgetPending()
        // Wait for the sidecar being written.
        await sidecars.flush()
    }

    private func reconsider(_ path: RelativePath) {
        reconsidered.withLock { $0.append(path) }
        guard settlesAtOnce else { return }
        if let status = try? OutboxFiles(root: outbox).status(of: path) {
            uploader.run { $0.take([.ready(path, status)]) }
        } else {
            uploader.run { $0.take([.gone(path)]) }
        }
    }

    // MARK: What happens in the outbox

    func path(_ name: String) throws -> RelativePath { try #require(RelativePath(name)) }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        let file = URL(fileURLWithPath: "\(outbox)/\(name)")
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
    }

    /// Writes a file and reports it like the watch.
    func drop(_ name: String, _ bytes: [UInt8]) async throws {
        try write(name, bytes)
        await uploader.take([.seen(try path(name))])
        try await ready(name)
    }

    func ready(_ name: String) async throws {
        await uploader.take([.ready(try path(name), try status(name))])
    }

    func status(_ name: String) throws -> FileStatus { try OutboxFiles(root: outbox).status(of: try path(name)) }

    func rename(_ old: String, to new: String, isDirectory: Bool = false) async throws {
        #expect(Foundation.rename("\(outbox)/\(old)", "\(outbox)/\(new)") == 0)
        await uploader.take([.renamed(from: try path(old), to: try path(new), isDirectory: isDirectory)])
    }

    func remove(_ name: String) async throws {
        // The agent may write a sidecar into the directory during its removal.
        try await Poll.until("\(name) to be removed") {
            try? FileManager.default.removeItem(atPath: "\(outbox)/\(name)")
            return !FileManager.default.fileExists(atPath: "\(outbox)/\(name)")
        }
        await uploader.take([.gone(try path(name))])
    }

    /// Advances the clock by the removal grace, so that a removal counts.
    func passGrace() async {
        clock.advance(by: PathBook.removalGrace)
        await uploader.handle(.path(.tick))
    }

    // MARK: What is to be seen

    func record(_ name: String) async throws -> DropRecord? {
        let path = try path(name)
        return await uploader.core { $0.record(of: path) }
    }

    func sidecar(_ name: String) -> [String: Any]? {
        guard let data = FileManager.default.contents(atPath: "\(outbox)/\(name).outbox.json") else { return nil }
        return try? JSONSerialization.jsonObject(with: data) as? [String: Any]
    }

    /// Waits until the uploader reports a state for a path.
    func until(_ name: String, is state: FileState) async throws {
        let id = FileReport.id(of: try path(name))
        try await Poll.until("\(name) is \(state)") { await backend.file(id: id)?.state == state }
    }

    /// Waits until record and sidecar of a path both show a final state.
    func ends(_ name: String, _ state: FileState) async throws {
        try await Poll.until(
            "the sidecar of \(name) says \(state)", lastState: { "\(sidecar(name)?["state"] ?? "none")" }
        ) {
            guard sidecar(name)?["state"] as? String == state.rawValue else { return false }
            // The sidecar may come from an earlier run.
            return try await record(name)?.state == state
        }
    }
}

extension Uploader {
    /// Answers a question about the state of this moment.
    func core<Answer: Sendable>(_ question: @Sendable (AgentCore) -> Answer) -> Answer { question(core) }

    /// From now on, ignores all events and steps.
    func fallSilent() { isSealed = true }

    /// Handles events of the watch at once.
    func take(_ events: [WatchEvent]) {
        guard !hasStopped else { return }
        for event in events {
            perform(intake.take(event, core))
            while let steps = intake.nextMove(core) { perform(steps) }
        }
    }
}
