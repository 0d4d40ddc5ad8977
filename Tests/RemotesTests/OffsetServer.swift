import Synchronization
import Testing
import Transport
import UploadCore

@testable import Remotes

/// A server in memory that appends bytes at an offset, with its remote. Shows that the conformance suite fits protocols
/// that send in order.
final class OffsetServer: ConformanceServer {
    final class State: Sendable {
        struct Values {
            var open: [String: (key: ContentKey, size: UInt64, bytes: [UInt8])] = [:]
            /// The complete contents, by id.
            var finished: [String: (key: ContentKey, bytes: [UInt8])] = [:]
            var lastID = 0
            var losesReply = false
            var cut: Int?
        }
        let values = Mutex(Values())
    }

    private let state = State()
    var remote: any Remote { OffsetRemote(state: state) }

    func loseNextReply() { state.values.withLock { $0.losesReply = true } }

    func cutNextFragment(after bytes: Int) { state.values.withLock { $0.cut = bytes } }

    func forgetEverything() { state.values.withLock { $0.open = [:] } }

    func holds(_ content: TestContent) -> Bool {
        state.values.withLock { $0.finished.values.contains { $0.bytes == content.bytes } }
    }

    var openUploads: Int { state.values.withLock { $0.open.count } }
}

private struct OffsetRemote: Remote {
    let traits = RemoteTraits(batch: 1, inOrder: true, asksBeforeResuming: true)
    let scope = RemoteScope("offset http://fake me")
    let state: OffsetServer.State

    private static let lost = FileError(code: "connection_lost", message: "lost", retryable: true)
    private static let differs = FileError(code: "out_of_step", message: "409", retryable: true)

    /// Processes a request, and loses its reply if the test wants that.
    private func process<Reply: Sendable>(
        _ body: (inout OffsetServer.State.Values) -> Result<Reply, RemoteFailure>
    ) throws(RemoteFailure) -> Reply {
        let (reply, isLost) = state.values.withLock { values in
            defer { values.losesReply = false }
            return (body(&values), values.losesReply)
        }
        if isLost { throw .temporary(Self.lost) }
        return try reply.get()
    }

    func register(_ uploads: [UploadDescription]) async -> [Result<Registration, RemoteFailure>] {
        uploads.map { upload in
            Result { () throws(RemoteFailure) in
                try process { values -> Result<Registration, RemoteFailure> in
                    if let known = values.finished.first(where: { $0.value.key == upload.key }) {
                        return .success(.existing(RemoteObject(id: known.key, url: nil)))
                    }
                    values.lastID += 1
                    values.open["\(values.lastID)"] = (upload.key, upload.plan.size, [])
                    return .success(.registered(RemoteHandle(id: "\(values.lastID)"), .offset(0)))
                }
            }
        }
    }

    func resume(_ upload: RemoteUpload) async throws(RemoteFailure) -> ResumePoint {
        try process { values -> Result<ResumePoint, RemoteFailure> in
            if let finished = values.finished[upload.handle.id] {
                return .success(.offset(UInt64(finished.bytes.count)))
            }
            return values.open[upload.handle.id].map { .success(.offset(UInt64($0.bytes.count))) }
                ?? .failure(.forgotten)
        }
    }

    func send(_ fragment: OutgoingFragment) async throws(RemoteFailure) -> String? {
        let id = fragment.upload.handle.id
        let start = fragment.upload.plan.range(of: fragment.index).lowerBound + UInt64(fragment.skip)
        guard let offset = state.values.withLock({ $0.open[id]?.bytes.count }) else { throw .forgotten }
        guard UInt64(offset) == start else { throw .outOfStep(Self.differs) }
        // A server keeps what arrived, even if the rest never follows.
        let rest = fragment.rest
        var sent: UInt64 = 0
        var buffer = [UInt8](repeating: 0, count: 60_000)
        while sent < rest.length {
            let count: Int
            do {
                count = try buffer.withUnsafeMutableBytes { try rest.read(into: $0) }
            } catch {
                throw RemoteFailure(.body(error), endpoint: "PATCH")
            }
            sent += UInt64(count)
            let isCut = state.values.withLock { values in
                let kept = min(count, values.cut ?? count)
                values.open[id]?.bytes += buffer[..<kept]
                guard let cut = values.cut else { return false }
                values.cut = kept < count ? nil : cut - kept
                return kept < count
            }
            if isCut { throw .temporary(Self.lost) }
        }
        return try process { values -> Result<String?, RemoteFailure> in
            if let stored = values.open[id], UInt64(stored.bytes.count) == stored.size {
                values.open[id] = nil
                values.finished[id] = (stored.key, stored.bytes)
            }
            return .success(nil)
        }
    }

    func finish(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>] {
        uploads.map { upload in
            Result { () throws(RemoteFailure) in
                try process { values -> Result<FinishOutcome, RemoteFailure> in
                    if values.finished[upload.handle.id] != nil {
                        return .success(.confirmed(RemoteObject(id: upload.handle.id, url: nil)))
                    }
                    return .failure(values.open[upload.handle.id] == nil ? .forgotten : .outOfStep(Self.differs))
                }
            }
        }
    }

    func remove(_ handles: [RemoteHandle]) async throws(RemoteFailure) {
        try process { values -> Result<Void, RemoteFailure> in
            for handle in handles { values.open[handle.id] = nil }
            return .success(())
        }
    }
}

@Suite("RemoteConformance: a protocol that sends in order")
struct OrderedConformanceTests {
    private let conformance = RemoteConformance(server: OffsetServer())

    @Test("a content is registered, sent in order, and confirmed each time the remote asks")
    func upload() async throws { try await conformance.uploadsAContent() }

    @Test("an existing content is reported as existing")
    func existing() async throws { try await conformance.saysThatItHasAContent() }

    @Test("a removed upload is gone, and removing it again is no error")
    func remove() async throws { try await conformance.removesAnUpload() }

    @Test("a forgotten id is reported as forgotten")
    func forgotten() async throws { try await conformance.tellsThatAnIDWasForgotten() }

    @Test("every reply may be lost")
    func lostReplies() async throws { try await conformance.survivesLostReplies() }

    @Test("the rest of a fragment follows when the connection broke in its middle")
    func middle() async throws { try await conformance.continuesInTheMiddleOfAFragment() }

    @Test("wrong bytes never complete")
    func wrongBytes() async throws { try await conformance.neverCompletesWrongBytes() }
}
