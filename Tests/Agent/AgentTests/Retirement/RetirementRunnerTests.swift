import AgentTestSupport
@testable import Digests
import Foundation
@testable import Intake
import LinuxSystem
import Logging
import Sidecars
import Synchronization
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import Agent

@Suite("Moving files out of the outbox", .timeLimit(.minutes(1)))
struct RetirementRunnerTests {
    private let place: TemporaryDirectory
    private let files: OutboxFiles
    private let path: RelativePath
    private let target: RelativePath
    private let answers: AsyncStream<(RelativePath, RetirementEvent)>
    private let continuation: AsyncStream<(RelativePath, RetirementEvent)>.Continuation

    init() throws {
        place = try TemporaryDirectory()
        files = OutboxFiles(root: place.path("outbox"))
        path = try #require(RelativePath("trip/a.jpg"))
        target = try #require(RelativePath("Sent/trip/a.jpg"))
        (answers, continuation) = AsyncStream<(RelativePath, RetirementEvent)>.makeStream()
        try write("trip/a.jpg")
    }

    private func write(_ name: String) throws {
        let file = URL(fileURLWithPath: place.path("outbox/\(name)"))
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(content(1)).write(to: file)
    }

    private func runner(_ fate: Retirement.Fate = .delete) throws -> RetirementRunner {
        let secret = try #require(DigestSecret([UInt8](repeating: 7, count: DigestSecret.length)))
        let rules = IntakeRules(mediaOnly: false, maxFileSize: 1 << 30, ignore: [])
        return RetirementRunner(
            holding: HoldingArea(root: files.outbox), files: files,
            hashPool: HashPool(files: files, rules: rules, secret: secret, threads: 1), fate: fate,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { [continuation] path, event in continuation.yield((path, event)) }
    }

    /// Has a file taken.
    ///
    /// A child process that another test starts may hold the file's descriptor for a moment, and counts as a writer.
    ///
    /// - Returns: the file's identity before.
    private func take(_ runner: RetirementRunner) async throws -> FileIdentity {
        try await Poll.value("the file to be taken") {
            let identity = try identity()
            guard case .taken = runner.perform(.take(identity), on: path) else { return nil }
            return identity
        }
    }

    private func identity() throws -> FileIdentity { FileIdentity(try files.status(of: path)) }

    @Test("takes a file, hashes it in the holding area, and moves it to a free name")
    func moves() async throws {
        let runner = try runner()
        let identity = try await take(runner)
        #expect(files.isGone(path))
        #expect(runner.perform(.check(identity), on: path) == nil)
        let (checked, answer) = try #require(await answers.first { _ in true })
        #expect(checked == path)
        try expect(answer) { if case .checked(.content) = $0 { true } else { false } }
        try write("Sent/trip/a.jpg")
        let free = try #require(RelativePath("Sent/trip/a (2).jpg"))
        let next = try #require(RelativePath("Sent/trip/a (3).jpg"))
        try expect(runner.perform(.findName(like: target, except: []), on: path)) {
            if case .named(free) = $0 { true } else { false }
        }
        try expect(runner.perform(.findName(like: target, except: [free]), on: path)) {
            if case .named(next) = $0 { true } else { false }
        }
        try expect(runner.perform(.release(to: target), on: path)) {
            if case .failed(errno: Errno.fileExists.rawValue) = $0 { true } else { false }
        }
        try expect(runner.perform(.release(to: free), on: path)) { if case .left = $0 { true } else { false } }
        #expect(!files.isGone(free))
    }

    @Test("deletes a held file")
    func deletes() async throws {
        let runner = try runner()
        _ = try await take(runner)
        try expect(runner.perform(.delete, on: path)) { if case .left = $0 { true } else { false } }
        #expect(files.isGone(path))
        #expect(files.isGone(HoldingArea.place(of: path)))
    }

    @Test("puts a held file back, and tells its path and identity")
    func putsBack() async throws {
        let runner = try runner()
        _ = try await take(runner)
        let answer = runner.perform(.putBack, on: path)
        let identity = try identity()
        try expect(answer) { if case .back(path, identity) = $0 { true } else { false } }
        try expect(runner.perform(.putBack, on: path)) { if case .back(nil, nil) = $0 { true } else { false } }
    }

    @Test("takes no file that changed")
    func changed() throws {
        var other = try identity()
        other.inode += 1
        try expect(try runner().perform(.take(other), on: path)) { if case .replaced = $0 { true } else { false } }
        #expect(!files.isGone(path))
    }

    @Test("tells a missing outbox from a failed call")
    func away() throws {
        let identity = try identity()
        let runner = try runner()
        try expect(runner.perform(.delete, on: path)) { if case .failed = $0 { true } else { false } }
        try FileManager.default.moveItem(atPath: place.path("outbox"), toPath: place.path("elsewhere"))
        try expect(runner.perform(.take(identity), on: path)) { if case .outboxAway = $0 { true } else { false } }
    }

    @Test("names the obstacle and what to do about it")
    func problem() throws {
        try Data().write(to: URL(fileURLWithPath: place.path("outbox/Sent")))
        let sent = try #require(RelativePath("Sent"))
        let runner = try runner(.move(to: sent))
        let notDirectory = runner.describeProblem(path, errno: Errno.notDirectory.rawValue)
        #expect(notDirectory.hasPrefix("trip/a.jpg can't be moved out of the outbox: "))
        #expect(notDirectory.contains("Sent is not a directory; remove it, or set intake.move_to"))
        let readOnly = runner.describeProblem(path, errno: Errno.readOnlyFileSystem.rawValue)
        #expect(readOnly.hasSuffix("make the outbox writable, and keep intake.move_to a directory on its file system"))
    }

    // MARK: Posts

    @Test("deletes or moves the description of a post")
    func posts() throws {
        let post = try #require(RelativePath("trip"))
        let sent = try #require(RelativePath("Sent"))
        try write("trip/source.toml")
        #expect(try runner(.delete).retire(post: post) == .deleted)
        #expect(files.isGone(PostPlaces.description(of: post)))
        #expect(try runner(.delete).retire(post: post) == nil, "the file is gone already")
        try write("trip/source.toml")
        let moved = try #require(RelativePath("Sent/trip/source.toml"))
        #expect(try runner(.move(to: sent)).retire(post: post) == .moved(to: moved))
        #expect(!files.isGone(moved))
    }

    @Test("moves the sidecar of a post if an earlier post left one at the destination")
    func sidecars() throws {
        let post = try #require(RelativePath("trip"))
        let target = try #require(RelativePath("Sent/trip"))
        let sidecars = SidecarWriter(
            store: SidecarStore(beside: files.outbox), writesRejected: true, clock: HandClock(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try write("trip/source.outbox.json")
        try write("Sent/trip/source.outbox.json")
        try runner().moveSidecar(ofPost: post, to: target, nil, sidecars)
        #expect(!files.isGone(try #require(RelativePath("Sent/trip/source.outbox (2).json"))))
        #expect(files.isGone(try #require(RelativePath("trip/source.outbox.json"))))
    }

    private func expect(
        _ event: RetirementEvent?, _ isExpected: (RetirementEvent) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let event = try #require(event, sourceLocation: sourceLocation)
        #expect(isExpected(event), "\(event)", sourceLocation: sourceLocation)
    }
}
