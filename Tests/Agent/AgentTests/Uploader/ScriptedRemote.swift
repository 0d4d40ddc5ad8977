import Synchronization
import Transport
import UploadCore

@testable import Remotes

/// A server in memory: stores received fragments, and answers a step only while the test does not hold that step.
final class ScriptedRemote: Remote, SourceRemote {
    /// The steps that a test can hold back.
    enum Step: Hashable, Sendable {
        case register, send, finish, commit
    }

    private struct State {
        var held: Set<Step> = []
        /// The number of fragments still let through while sending is held.
        var sendsLeft = 0
        var waiting: [Step: [CheckedContinuation<Void, Never>]] = [:]
        var lastID = 0
        var registered: [UploadDescription] = []
        var keys: [String: ContentKey] = [:]
        var received: [String: [Int: [UInt8]]] = [:]
        var sent: [(ContentKey, Int)] = []
        var removed: [String] = []
        var executors: [UnownedTaskExecutor?] = []
        var registrations: [[ContentKey]] = []
        var questions: [[ContentKey]] = []
        var proofs: [ContentKey] = []
        var commits: [SourceCommit] = []
        var refusal: RemoteFailure?
        var callsExistingByMD5 = false
    }

    let traits = RemoteTraits(batch: 50, lookahead: 50)
    let scope: RemoteScope
    private let state = Mutex(State())

    let executor: (any TaskExecutor)?

    init(scope: String = "test http://127.0.0.1 default", executor: (any TaskExecutor)? = nil) {
        self.scope = RemoteScope(scope)
        self.executor = executor
    }

    // MARK: Strings in the tester's hand

    func hold(_ step: Step, letting count: Int = 0) {
        state.withLock { state in
            state.held.insert(step)
            state.sendsLeft = count
        }
    }

    func release() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            state.held = []
            return state.waiting.values.joined()
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Refuses every fragment from now on; nil ends the refusals.
    func refuse(_ failure: RemoteFailure?) { state.withLock { $0.refusal = failure } }

    /// From now on, answers "existing" to registrations without a SHA-256, like a server that compares only the MD5.
    func callExistingByMD5() { state.withLock { $0.callsExistingByMD5 = true } }

    /// The registered contents, in order.
    var registered: [ContentKey] { descriptions.map(\.key) }
    /// The descriptions of the registered contents, in order.
    var descriptions: [UploadDescription] { state.withLock { $0.registered } }
    /// The fragments that arrived, including repeated fragments.
    var sent: [(key: ContentKey, fragment: Int)] { state.withLock { $0.sent } }
    var removed: [String] { state.withLock { $0.removed } }
    /// The executor that the task of each removal prefers.
    var executors: [UnownedTaskExecutor?] { state.withLock { $0.executors } }
    /// The registration requests, each with its contents.
    var registrations: [[ContentKey]] { state.withLock { $0.registrations } }
    /// The finish requests, each with its contents.
    var questions: [[ContentKey]] { state.withLock { $0.questions } }
    /// The contents that the server was asked to prove.
    var proofs: [ContentKey] { state.withLock { $0.proofs } }
    /// The commits that arrived, including repeated commits.
    var commits: [SourceCommit] { state.withLock { $0.commits } }
    /// Whether a request waits at a held step.
    func isWaiting(at step: Step) -> Bool { state.withLock { $0.waiting[step]?.isEmpty == false } }

    /// The bytes that arrived for an id, in order of their fragments.
    func content(of id: String) -> [UInt8] {
        state.withLock { state in
            (state.received[id] ?? [:]).sorted { $0.key < $1.key }.flatMap(\.value)
        }
    }

    // MARK: Remote

    func register(_ uploads: [UploadDescription]) async -> [Result<Registration, RemoteFailure>] {
        await pass(.register)
        return state.withLock { state in
            state.registrations.append(uploads.map(\.key))
            return uploads.map { upload in
                state.lastID += 1
                state.registered.append(upload)
                state.keys["\(state.lastID)"] = upload.key
                if state.callsExistingByMD5, upload.sha256 == nil {
                    return .success(.existing(RemoteObject(id: "\(state.lastID)", url: nil)))
                }
                return .success(.registered(RemoteHandle(id: "\(state.lastID)"), .asRecorded))
            }
        }
    }

    func resume(_ upload: RemoteUpload) async throws(RemoteFailure) -> ResumePoint { .asRecorded }

    func send(_ fragment: OutgoingFragment) async throws(RemoteFailure) -> String? {
        await pass(.send)
        if Task.isCancelled { throw .cancelled }
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
        let bytes: [UInt8]
        do {
            bytes = try Self.read(fragment.body)
        } catch let problem as SourceProblem {
            throw .source(problem)
        } catch {
            throw .permanent(FileError(code: "test", message: "\(error)", retryable: false))
        }
        state.withLock { state in
            state.received[fragment.upload.handle.id, default: [:]][fragment.index] = bytes
            state.sent.append((fragment.upload.key, fragment.index))
        }
        return nil
    }

    func finish(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>] {
        await pass(.finish)
        state.withLock { $0.questions.append(uploads.map(\.key)) }
        return uploads.map { .success(.confirmed(RemoteObject(id: $0.handle.id, url: "http://u/\($0.handle.id)"))) }
    }

    func prove(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>] {
        await pass(.finish)
        state.withLock { $0.proofs += uploads.map(\.key) }
        return uploads.map { .success(.confirmed(RemoteObject(id: $0.handle.id, url: nil))) }
    }

    func commit(_ commit: SourceCommit) async throws(RemoteFailure) -> CommitOutcome {
        await pass(.commit)
        if Task.isCancelled { throw .cancelled }
        state.withLock { $0.commits.append(commit) }
        return .done(url: "http://u/post/\(commit.sourceID)")
    }

    func remove(_ handles: [RemoteHandle]) async throws(RemoteFailure) {
        let preferred = withUnsafeCurrentTask { $0?.unownedTaskExecutor }
        state.withLock { state in
            state.removed += handles.map(\.id)
            state.executors.append(preferred)
        }
    }

    private func pass(_ step: Step) async {
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                guard state.held.contains(step) else { return true }
                if step == .send, state.sendsLeft > 0 {
                    state.sendsLeft -= 1
                    return true
                }
                state.waiting[step, default: []].append(continuation)
                return false
            }
            if goesOn { continuation.resume() }
        }
    }

    private static func read(_ body: any BodySource) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = try buffer.withUnsafeMutableBytes { try body.read(into: $0) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }
}
