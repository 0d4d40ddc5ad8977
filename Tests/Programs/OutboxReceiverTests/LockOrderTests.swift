import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import OutboxReceiver

/// A request that completes a block locks the upload and then the books. So nobody may lock an upload while holding the
/// books: both would wait for ever, and soon all other requests.
@Suite struct LockOrderTests {
    private let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")

    private final class Progress: Sendable {
        let isAsking = Atomic(false)
        let isLocked = Atomic(false)
        let reads = Atomic(0)
        let gate = Mutex(false)
    }

    private func store() throws -> Store {
        try Store(
            path: root.path, limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10),
            synchronizes: false, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
    }

    @Test func aQuestionAboutAnUploadInUseLeavesTheBooksFree() async throws {
        defer { try? FileManager.default.removeItem(at: root) }
        let store = try store()
        let plan = UploadPlan(
            user: "a", size: 10, md5: .random(), fileName: "a", path: nil, type: "image/jpeg", modified: nil)
        let id = try #require(try await store.preLoad([plan], user: "a").first?.id)
        let upload = try #require(store.open.first)
        let ticket = try #require(try upload.begin(0, at: 1000))
        let progress = Progress()
        Thread.detachNewThread {
            // Holds the upload's lock until the test opens the gate.
            try? upload.complete(ticket, bytes: nil) { _ in
                progress.isLocked.store(true, ordering: .releasing)
                while !progress.gate.withLock(\.self) { usleep(1000) }
            }
        }
        defer { progress.gate.withLock { $0 = true } }
        try await Poll.until("the lock") { progress.isLocked.load(ordering: .acquiring) }
        let question = Task.detached {
            progress.isAsking.store(true, ordering: .releasing)
            await store.waitForFinishing([id], of: "a")
        }
        try await Poll.until("the question") { progress.isAsking.load(ordering: .acquiring) }
        Thread.detachNewThread {
            for _ in 0..<200 {
                _ = store.withBooks { $0.journal.lines }
                progress.reads.add(1, ordering: .relaxed)
                usleep(1000)
            }
        }
        try await Poll.until("the books") { progress.reads.load(ordering: .relaxed) == 200 }
        progress.gate.withLock { $0 = true }
        await question.value
    }
}
