import Clocks
import AgentTestSupport
import Foundation
import Intake
import LinuxSystem
import Logging
import MediaTools
import PictureJobs
import Remotes
import Synchronization
import TestSupport
import Transport
import UploadCore

@testable import Portrait

/// A portrait service with a staged worker, server and cache, and a clock set by the test.
final class PortraitStage: Sendable {
    /// The server's reply to the next picture.
    enum Reply: Sendable {
        case url(String)
        case failure(RemoteFailure)
        /// No reply until the service cancels the request; then success.
        case hang
    }

    /// The worker's result for a picture.
    enum Verdict: Sendable {
        case draws
        case fails(PictureFailure)
    }

    struct State: Sendable {
        var account: String? = "anna"
        var reply = Reply.url("http://h/u/1.jpg!150x150")
        var verdict = Verdict.draws
        var cacheFails = false
        var received: [String] = []
        var underWay = 0
        var mostUnderWay = 0
        var reports: [PortraitReport] = []
        var events: [PortraitEvent] = []
        var pinned: [String] = []
        var reconsidered: [RelativePath] = []
        var refusals = 0
        var arrivals: UInt64 = 0
        /// The profile text announced with each event.
        var profiles: [String] = []
        /// The number of jobs that kill the worker before the first success.
        var kills = 0
    }

    let directory: TemporaryDirectory
    let clock = HandClock()
    let state = Mutex(State())

    var outbox: String { directory.path("outbox") }
    var avatars: String { directory.path("avatars") }
    var portrait: String { directory.path("state/portrait") }

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["outbox/portrait", "state", "avatars/h/u"] {
            try FileManager.default.createDirectory(
                atPath: directory.path(name), withIntermediateDirectories: true)
        }
    }

    /// Returns a started service.
    func service(hasRemote: Bool = true, isAllPaused: Bool = false) -> PortraitService {
        let service = PortraitService(
            PortraitService.Parts(
                state: directory.path("state"), avatars: avatars, files: OutboxFiles(root: outbox),
                pictures: StagedWorker(stage: self), remote: hasRemote ? StagedServer(stage: self) : nil,
                cache: PortraitCache(
                    adopt: { [self] file, url in try keep(file, url) },
                    pin: { [self] url in pin(url) }),
                account: { [self] in state.withLock(\.account) }, quality: 70, maximumPixels: 1_000_000,
                retryInterval: .seconds(120), clock: clock, logger: Logger(label: "test")), seed: 1)
        service.start(
            PortraitOutlets(
                report: { [self] report in state.withLock { $0.reports.append(report) } },
                reconsider: { [self] path in state.withLock { $0.reconsidered.append(path) } },
                sessionRefused: { [self] _ in state.withLock { $0.refusals += 1 } },
                announce: { [self] event, profile in
                    state.withLock { state in
                        state.events.append(event)
                        state.profiles.append(String(decoding: profile, as: UTF8.self))
                    }
                }), isAllPaused: isAllPaused)
        return service
    }

    /// Returns the order of a picture that arrives after all others.
    func arrive() -> DropOrder {
        .arrived(
            state.withLock { state in
                state.arrivals += 1
                return state.arrivals
            })
    }

    private func pin(_ url: String) -> String? {
        state.withLock { $0.pinned.append(url) }
        let path = avatars + "/h/u/" + (url.split(separator: "/").last ?? "")
        return [path, path + "%file"].first { FileManager.default.fileExists(atPath: $0) }
    }

    private func keep(_ file: SharedDescriptor, _ url: String) throws -> String {
        if state.withLock(\.cacheFails) { throw CocoaError(.fileWriteOutOfSpace) }
        let path = avatars + "/h/u/" + (url.split(separator: "/").last ?? "")
        try Data(Self.text(file).utf8).write(to: URL(filePath: path))
        state.withLock { $0.pinned.append(url) }
        return path
    }

    static func text(_ file: SharedDescriptor) -> String {
        var bytes = [UInt8](repeating: 0, count: 1000)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// Writes a file to the portrait folder and returns the drop, like the uploader.
    func drop(_ name: String, _ content: String, type: MediaType? = nil) throws -> PortraitDrop {
        try Data(content.utf8).write(to: URL(filePath: outbox + "/portrait/" + name))
        let path = Self.path(name)
        let status = try OutboxFiles(root: outbox).status(of: path)
        return PortraitDrop(
            path: path, key: ContentKey(high: 0, low: UInt64(content.hashValue.magnitude)),
            identity: FileIdentity(status), type: type ?? MediaType(kind: .image, mime: "image/jpeg"),
            acceptedAt: clock.now.wall)
    }

    static func path(_ name: String) -> RelativePath { RelativePath("portrait/\(name)") ?? .root }

    func report(_ name: String) -> PortraitReport? {
        state.withLock { $0.reports.last { $0.path == Self.path(name) } }
    }

    func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
    var current: String? { text(avatars + "/current.jpg") }

    func wait(for what: String, _ condition: () -> Bool) async throws {
        try await Poll.until(
            what, lastState: { self.state.withLock { "\($0.reports.suffix(3))" } }, condition: condition)
    }
}

/// Draws by copying the picture's bytes after the name of the operation.
private struct StagedWorker: PictureWorking {
    let stage: PortraitStage

    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor?,
        maximumPixels: Int
    ) async throws(PictureFailure) -> PictureFacts {
        let isKilled = stage.state.withLock { state in
            state.kills -= 1
            return state.kills >= 0
        }
        if isKilled { throw .killedWorker("SIGSEGV") }
        if case .fails(let failure) = stage.state.withLock(\.verdict) { throw failure }
        let mark =
            switch operation {
            case .encode, .compress: "jpeg of "
            case .thumbnail: "thumbnail of "
            case .measure, .draw: "?"
            }
        guard let output else { throw .failed("no output") }
        do {
            try writeAll(Array((mark + PortraitStage.text(picture)).utf8), to: output.rawValue)
        } catch {
            throw .failed("\(error)")
        }
        return PictureFacts(width: 10, height: 10)
    }
}

/// Gives the reply set on the stage.
private struct StagedServer: PortraitRemote {
    let stage: PortraitStage

    func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String {
        var bytes = [UInt8](repeating: 0, count: Int(picture.length))
        let count = bytes.withUnsafeMutableBytes { (try? picture.read(into: $0)) ?? 0 }
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        let reply = stage.state.withLock { state in
            state.received.append(text)
            state.underWay += 1
            state.mostUnderWay = max(state.mostUnderWay, state.underWay)
            return state.reply
        }
        defer { stage.state.withLock { $0.underWay -= 1 } }
        switch reply {
        case .url(let url): return url
        case .failure(let failure): throw failure
        case .hang:
            while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
            return "http://h/u/late.jpg"
        }
    }
}
