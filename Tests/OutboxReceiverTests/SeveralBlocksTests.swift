import Foundation
import Logging
import TestSupport
import Testing

@testable import OutboxReceiver

/// Requests with several blocks of one upload.
@Suite struct SeveralBlocksTests {
    private static let blockSize = TestServer.blockSize

    @Test func severalBlocksOfAFileMayComeInOneRequestInAnyOrderAndTwice() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(9 * Self.blockSize + 17)
            let (id, _) = try server.preLoad(content)
            for numbers in [[9, 10, 1, 8], [2, 2, 3], [3, 4, 2, 3], [7, 6, 5]] {
                #expect(try server.sendBlocks(numbers, of: content, id: id).status == 200)
            }
            #expect(try server.get(server.finishedPath(id)).body == content)
        }
    }

    @Test func requestsWithSeveralBlocksMayComeInParallel() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(40 * Self.blockSize)
            let (id, _) = try server.preLoad(content)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for first in stride(from: 1, through: 37, by: 4) {
                    group.addTask { try server.sendBlocks(Array(first..<first + 4), of: content, id: id).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            try await Poll.until("the file") { try server.isFinish([id]).data["finishStatus"] as? Int == 1 }
            #expect(try server.get(server.finishedPath(id)).body == content)
        }
    }

    @Test func ofARequestThatBreaksOffTheWholeBlocksStay() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(4 * Self.blockSize)
            let (id, _) = try server.preLoad(content)
            let body = TestServer.multipart((1...4).map { TestServer.block($0, of: content) })
            var connection: HTTPConnection? = try server.connection()
            try connection?.send(
                "POST", "/fileSection/upload.do",
                try server.uploadHeaders(blocks: TestServer.fileBlocks([1, 2, 3, 4], of: content, id: id)),
                body: body.prefix(body.count * 5 / 8), length: body.count)
            connection = nil
            try await Poll.until("two blocks") {
                let journal = try String(contentsOf: server.root.appending(path: "journal"), encoding: .utf8)
                return journal.contains("B\t\(id)\t0\n") && journal.contains("B\t\(id)\t1\n")
            }
            #expect(try server.sendBlocks([3, 4], of: content, id: id).status == 200)
            #expect(try server.get(server.finishedPath(id)).body == content)
        }
    }

    // MARK: Without a server

    /// A store with an open upload of eight blocks.
    private struct World {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        let store: Store
        let upload: Upload
        let content = TestServer.content(8 * SeveralBlocksTests.blockSize)

        init() async throws {
            store = try Store(
                path: root.path,
                limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
            let plan = UploadPlan(
                user: "a", size: Int64(content.count), md5: try #require(Hex128(TestServer.md5(content))),
                fileName: "a.mp4", path: nil, type: "video/mp4", modified: 5)
            let id = try #require(try await store.preLoad([plan], user: "a").first).id
            upload = try #require(store.open.first { $0.id == id })
        }

        /// Begins a request with these blocks, counted from 0.
        func request(_ blocks: Range<Int>) throws -> BlockWriter {
            let blocks = try blocks.map { index in
                let size = content.count
                let text = #"[{"id":"\#(upload.id)","totalSize":\#(size),"blockTotal":8,"blockNo":\#(index + 1)}]"#
                let block = try #require(FileBlock.list(text)?.first)
                return IncomingBlock(
                    block: block, destination: .upload(upload), length: SeveralBlocksTests.blockSize)
            }
            return try BlockWriter(store: store, blocks: blocks) { _, _ in }
        }

        /// Adds some bytes of this block to the request that began with block `first`.
        func send(_ block: Int, part: Range<Int>, to request: inout BlockWriter, from first: Int) throws {
            let bytes = Array(TestServer.block(block + 1, of: content)[part])
            try bytes.withUnsafeBytes { try request.append($0, toBlock: block - first) }
        }

        /// How many more blocks may be in memory as a whole.
        func spaceInMemory() -> Int {
            var taken: [BlockBuffer] = []
            while true {
                let buffer = store.blocks.take()
                guard buffer.capacity == SeveralBlocksTests.blockSize else { return taken.count }
                taken.append(buffer)
            }
        }

        func hasArrived() throws -> Bool {
            guard case .finished = store.answer(for: upload.id, user: "a") else { return false }
            return try Data(contentsOf: root.appending(path: "files/a/a.mp4")) == content
        }
    }

    @Test func anOlderRequestTakesNoBlockFromANewerOne() async throws {
        let world = try await World()
        defer { try? FileManager.default.removeItem(at: world.root) }
        let (half, whole) = (Self.blockSize / 2, Self.blockSize)
        var older = try world.request(0..<8)
        var newer = try world.request(0..<8)
        try world.send(0, part: 0..<whole, to: &newer, from: 0)
        try world.send(1, part: 0..<half, to: &newer, from: 0)
        #expect(throws: Refusal.superseded) {
            for block in 0..<2 { try world.send(block, part: 0..<whole, to: &older, from: 0) }
        }
        older.abandon()
        try world.send(1, part: half..<whole, to: &newer, from: 0)
        for block in 2..<8 { try world.send(block, part: 0..<whole, to: &newer, from: 0) }
        try newer.finish()
        try await Poll.until("the file") { try world.hasArrived() }
    }

    @Test func anOlderRequestIgnoresTheBlocksThatANewerOneBrought() async throws {
        let world = try await World()
        defer { try? FileManager.default.removeItem(at: world.root) }
        let whole = Self.blockSize
        var older = try world.request(0..<8)
        var newer = try world.request(2..<4)
        for block in 2..<4 { try world.send(block, part: 0..<whole, to: &newer, from: 2) }
        try newer.finish()
        for block in 0..<8 { try world.send(block, part: 0..<whole, to: &older, from: 0) }
        try older.finish()
        try await Poll.until("the file") { try world.hasArrived() }
    }

    @Test func blocksThatComeBeforeAnotherRequestsBlocksStayInMemory() async throws {
        let world = try await World()
        defer { try? FileManager.default.removeItem(at: world.root) }
        let space = world.spaceInMemory()
        var first = try world.request(0..<4)
        var second = try world.request(4..<8)
        for block in 4..<8 { try world.send(block, part: 0..<Self.blockSize, to: &second, from: 4) }
        try second.finish()
        #expect(world.spaceInMemory() == space - 4)
        for block in 0..<4 { try world.send(block, part: 0..<Self.blockSize, to: &first, from: 0) }
        try first.finish()
        try await Poll.until("the file") { try world.hasArrived() }
    }

    @Test func aRequestThatEndsEarlyGivesUpAllItsBlocks() async throws {
        let world = try await World()
        defer { try? FileManager.default.removeItem(at: world.root) }
        let space = world.spaceInMemory()
        let first = try world.request(0..<4)
        var second = try world.request(4..<8)
        first.abandon()
        for block in 4..<8 { try world.send(block, part: 0..<Self.blockSize, to: &second, from: 4) }
        try second.finish()
        #expect(world.spaceInMemory() == space)
    }
}
