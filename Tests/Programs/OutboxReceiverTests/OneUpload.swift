import Foundation
import Logging
import Testing

@testable import OutboxReceiver

/// A store with one open upload, without a server.
final class OneUpload {
    let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
    let content: Data
    let store: Store
    let upload: Upload

    init(bytes: Int) async throws {
        content = TestServer.content(bytes)
        store = try Store(
            path: root.path,
            limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
        let plan = UploadPlan(
            user: "a", size: Int64(bytes), md5: try #require(Hex128(TestServer.md5(content))),
            fileName: "a.mp4", path: nil, type: "video/mp4", modified: 5)
        let id = try #require(try await store.preLoad([plan], user: "a").first).id
        upload = try #require(store.open.first { $0.id == id })
    }

    deinit {
        try? FileManager.default.removeItem(at: root)
    }

    /// Begins a request with these blocks, counted from 0.
    func request(_ blocks: Range<Int>) throws -> BlockWriter {
        let size = content.count
        let count = (size + TestServer.blockSize - 1) / TestServer.blockSize
        let blocks = try blocks.map { index in
            let text = #"[{"id":"\#(upload.id)","totalSize":\#(size),"blockTotal":\#(count),"blockNo":\#(index + 1)}]"#
            let block = try #require(FileBlock.list(text)?.first)
            return IncomingBlock(block: block, destination: .upload(upload), length: bytes(of: index).count)
        }
        return try BlockWriter(store: store, blocks: blocks) { _, _ in }
    }

    /// Adds some bytes of this block to the request that began with block `first`.
    func send(_ block: Int, part: Range<Int>, to request: inout BlockWriter, from first: Int) throws {
        let bytes = bytes(of: block)[part]
        try bytes.withUnsafeBytes { try request.append($0, toBlock: block - first) }
    }

    /// Sends all of these blocks with the request that began with the first one, and ends it.
    func send(_ blocks: Range<Int>, with request: inout BlockWriter) throws {
        for block in blocks {
            try send(block, part: 0..<bytes(of: block).count, to: &request, from: blocks.lowerBound)
        }
        try request.finish()
    }

    /// Returns the bytes of a block, counted from 0.
    func bytes(of block: Int) -> [UInt8] { Array(TestServer.block(block + 1, of: content)) }

    /// Takes the memory of all blocks that may still be in memory as a whole.
    func takeWholeBlocks() -> [BlockBuffer] {
        var taken: [BlockBuffer] = []
        while true {
            let buffer = store.blocks.take()
            guard buffer.capacity == TestServer.blockSize else { return taken }
            taken.append(buffer)
        }
    }

    /// Whether the file is there, with the right content.
    func hasArrived() throws -> Bool {
        guard case .finished = store.answer(for: upload.id, user: "a") else { return false }
        return try Data(contentsOf: root.appending(path: "files/a/a.mp4")) == content
    }
}
