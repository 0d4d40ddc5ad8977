import Foundation
import Logging
import TestSupport
import Testing

@testable import OutboxReceiver

@Suite struct FairDigestsTests {
    private static let blocks = 8

    private static func store(_ root: URL) throws -> Store {
        try Store(
            path: root.path,
            limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 100),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
    }

    private func send(_ blocks: Range<Int>, of upload: Upload, to store: Store) throws {
        let bytes = [UInt8](repeating: 1, count: TestServer.blockSize)
        for block in blocks {
            var fragment = try #require(try Fragment.begin(block, of: upload, in: store))
            try bytes.withUnsafeBytes { try fragment.append($0) }
            try fragment.complete(in: store)
        }
    }

    @Test func aUserDoesNotWaitForAllDigestsOfAnother() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let store = try Self.store(root)
        func open(_ user: String) async throws -> Upload {
            let plan = UploadPlan(
                user: user, size: Int64(Self.blocks * TestServer.blockSize), md5: .random(), fileName: "a", path: nil,
                type: "video/mp4", modified: nil)
            let id = try #require(try await store.preLoad([plan], user: user).first?.id)
            let upload = try #require(store.open.first { $0.id == id })
            // All but the first block, so that everything must be read back later.
            try send(1..<Self.blocks, of: upload, to: store)
            return upload
        }
        var many: [Upload] = []
        for _ in 0..<40 { many.append(try await open("a")) }
        let one = try await open("b")
        for upload in many + [one] {
            try send(0..<1, of: upload, to: store)
            store.advance(upload)
        }
        // The digest is wrong, so the receiver forgets the blocks.
        try await Poll.until("the digest of b") { one.arrivedBlocks.isEmpty }
        #expect(many.count { !$0.arrivedBlocks.isEmpty } > 10)
        try await Poll.until("the digests of a") { many.allSatisfy(\.arrivedBlocks.isEmpty) }
    }

    /// Each but the first is compared with the object that another of them became, outside of any batch.
    @Test func uploadsOfOneLargeContentBecomeOneObject() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let store = try Self.store(root)
        let content = Data(repeating: 1, count: 18 * TestServer.blockSize)
        let plan = UploadPlan(
            user: "a", size: Int64(content.count), md5: try #require(Hex128(TestServer.md5(content))), fileName: "a",
            path: nil, type: "video/mp4", modified: nil)
        let ids = try await store.preLoad(Array(repeating: plan, count: 4), user: "a").map(\.id)
        let uploads = try ids.map { id in try #require(store.open.first { $0.id == id }) }
        for upload in uploads { try send(0..<18, of: upload, to: store) }
        for upload in uploads { store.advance(upload) }
        try await Poll.until("all to be finished") {
            ids.allSatisfy { if case .finished = store.answer(for: $0, user: "a") { true } else { false } }
        }
        #expect(try store.objects.all(md5: plan.md5).count == 1)
    }
}
