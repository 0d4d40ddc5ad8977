import AgentConfiguration
import AgentTestSupport
import ControlAPI
import Digests
import FileWatch
import Foundation
import Intake
import Ledger
import LinuxSystem
import Logging
import Reports
import Session
import Sidecars
import Synchronization
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import Agent

/// An uploader on a ledger and an outbox of its own, without a watch: the test tells what happened.
final class Bench: Sendable {
    let place: TemporaryDirectory
    let remote: ScriptedRemote
    let clock: HandClock
    let ledger: Ledger
    let uploader: Uploader
    private let sidecars: SidecarWriter
    /// What the watch was asked to settle again.
    let reconsidered = Mutex<[RelativePath]>([])
    /// Whether a file that is to settle again is found to be ready at once.
    private let settlesAtOnce: Bool

    var outbox: String { place.path("outbox") }

    /// A bench; with the place of another one it is the next run of the same agent.
    init(
        place: TemporaryDirectory? = nil, remote: ScriptedRemote = ScriptedRemote(),
        clock: HandClock = .ahead(by: .seconds(3600)),
        settlesAtOnce: Bool = true, afterUpload: Configuration.AfterUpload = .keep,
        media: (any MediaExamining)? = nil, account: String = "default"
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
        let parts = Uploader.Parts(
            ledger: ledger, acknowledgements: try AcknowledgementLog(path: self.place.path("acknowledged")),
            remote: remote, files: files, rules: rules, holding: HoldingArea(root: files.outbox),
            afterUpload: afterUpload,
            moveTo: try #require(RelativePath("Sent")),
            hashPool: HashPool(
                files: files, rules: rules, secret: secret, threads: 2, withSHA256: afterUpload != .keep),
            secret: secret,
            sidecars: sidecars,
            media: media, sources: remote, events: EventHub(clock: clock),
            session: SessionKeeper(
                Credentials(environmentToken: nil, tokenFile: nil, stateDirectory: self.place.path("state")),
                account: Account(
                    name: account, session: SessionStore(stateDirectory: self.place.path("state")), change: {}),
                mayTravel: true),
            retention: .seconds(3600),
            remoteProtocol: "test", version: "0", processID: 1, clock: clock, logger: logger)
        let limits = UploadLimits(filesInFlight: 2, fragmentsInFlight: 2, retryInterval: .seconds(120))
        uploader = Uploader(parts: parts, limits: limits, seed: 1)
        try await uploader.start(reconsider: { [weak self] in self?.reconsider($0) })
    }

    deinit { remote.release() }

    /// Ends the run as a kill does: nothing more reaches the disk.
    func kill() async {
        ledger.close()
        uploader.beginToEnd()
        // Waits for the uploader's thread, and for the one that writes sidecars.
        _ = await uploader.now
        sidecars.forgetPending()
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

    /// Writes a file and tells of it, as the watch does.
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
        // A sidecar may come into a directory while it is being emptied.
        try await Poll.until("\(name) to be removed") {
            try? FileManager.default.removeItem(atPath: "\(outbox)/\(name)")
            return !FileManager.default.fileExists(atPath: "\(outbox)/\(name)")
        }
        await uploader.take([.gone(try path(name))])
    }

    /// Lets a removal count.
    func passGrace() async {
        clock.advance(by: PathBook.removalGrace)
        await uploader.handle(.tick)
    }

    // MARK: What is to be seen

    func record(_ name: String) async throws -> DropRecord? { await uploader.record(of: try path(name)) }

    func sidecar(_ name: String) -> [String: Any]? {
        guard let data = FileManager.default.contents(atPath: "\(outbox)/\(name).outbox.json") else { return nil }
        return try? JSONSerialization.jsonObject(with: data) as? [String: Any]
    }

    /// Waits until a path is in a state, as the uploader tells it.
    func until(_ name: String, is state: FileState) async throws {
        let id = FileReport.id(of: try path(name))
        try await Poll.until("\(name) is \(state)") { await uploader.file(id: id)?.state == state }
    }

    /// Waits until a path is in a final state and its sidecar says so.
    func ends(_ name: String, _ state: FileState) async throws {
        try await Poll.until(
            "the sidecar of \(name) says \(state)", lastState: { "\(sidecar(name)?["state"] ?? "none")" }
        ) {
            guard sidecar(name)?["state"] as? String == state.rawValue else { return false }
            // The sidecar may be one of an earlier run.
            return try await record(name)?.state == state
        }
    }
}
