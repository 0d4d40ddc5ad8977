import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import OutboxReceiver

/// Where the digests take the blocks of an upload from, and in which order.
@Suite struct DigestOrderTests {
    private static let blockSize = TestServer.blockSize

    /// An upload and its data file, outside of any store.
    private final class World {
        let upload: Upload
        let file: OpenFile
        let buffers = BlockBuffers(limit: 32)
        private let root: URL

        init(blocks: Int) throws {
            root = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
            file = try Folder.root(at: root.path).open("data", O_RDWR | O_CREAT, mode: 0o600)
            let plan = UploadPlan(
                user: "a", size: Int64(blocks * DigestOrderTests.blockSize), md5: .random(), fileName: "a", path: nil,
                type: "video/mp4", modified: nil)
            upload = Upload(id: .random(), plan: plan, at: 1000)
        }

        deinit {
            try? FileManager.default.removeItem(at: root)
        }

        func begin(_ block: Int) throws -> Upload.Ticket { try #require(try upload.begin(block, at: 1000)) }

        func complete(_ ticket: Upload.Ticket) throws {
            let buffer = buffers.take()
            let bytes = [UInt8](repeating: UInt8(ticket.block), count: DigestOrderTests.blockSize)
            #expect(bytes.withUnsafeBytes { buffer.append($0) } == bytes.count)
            try upload.write(buffer.bytes, at: upload.plan.offset(of: ticket.block), to: file, ticket)
            try upload.complete(ticket, bytes: buffer) { _ in }
        }

        /// Returns the next block to digest.
        func next() throws -> Upload.Digesting {
            try Self.digesting(upload.nextStep(at: 1000))
        }

        /// Ends this block and returns the next block to digest.
        func next(after digesting: Upload.Digesting) throws -> Upload.Digesting {
            try Self.digesting(upload.finished(digesting, at: 1000))
        }

        private static func digesting(_ step: Upload.NextStep) throws -> Upload.Digesting {
            guard case .digest(let digesting) = step else { throw CancellationError() }
            return digesting
        }
    }

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    @Test func anEarlyBlockIsDigestedFromMemory() throws {
        let world = try World(blocks: 2)
        let tickets = try (0..<2).map { try world.begin($0) }
        try world.complete(tickets[1])
        guard case .nothing = world.upload.nextStep(at: 1000) else { throw CancellationError() }
        try world.complete(tickets[0])
        let first = try world.next()
        #expect(first.block == 0)
        #expect(first.bytes?.bytes.first == 0)
        let second = try world.next(after: first)
        #expect(second.block == 1)
        #expect(second.bytes?.bytes.first == 1)
        guard case .assemble = world.upload.finished(second, at: 1000) else { throw CancellationError() }
    }

    @Test func aBlockBehindOneThatNobodySendsIsReadBack() throws {
        let world = try World(blocks: 2)
        try world.complete(try world.begin(1))
        try world.complete(try world.begin(0))
        let first = try world.next()
        #expect(first.bytes != nil)
        #expect(try world.next(after: first).bytes == nil)
    }

    @Test func oneBlockThatIsReadBackSendsNoOtherBlocksToTheDisk() throws {
        let world = try World(blocks: 4)
        let second = try world.begin(1)
        try world.complete(second)
        let others = try [0, 2, 3].map { try world.begin($0) }
        try world.complete(others[2])
        try world.complete(others[1])
        try world.complete(others[0])
        var digesting = try world.next()
        while digesting.block < 3 {
            #expect((digesting.bytes == nil) == (digesting.block == 1))
            digesting = try world.next(after: digesting)
        }
        #expect(digesting.bytes != nil)
    }

    @Test func aRequestThatBreaksOffFreesTheBlocksBehindItsOwn() throws {
        let world = try World(blocks: 3)
        let tickets = try (0..<3).map { try world.begin($0) }
        try world.complete(tickets[0])
        try world.complete(tickets[2])
        world.upload.abandon(tickets[1])
        try world.complete(try world.begin(1))
        let first = try world.next()
        #expect(first.bytes != nil)
        let second = try world.next(after: first)
        #expect(second.bytes != nil)
        #expect(try world.next(after: second).bytes == nil)
    }

    @Test func blocksFarAheadOfTheDigestsAreReadBack() throws {
        let count = Upload.turn + 3
        let world = try World(blocks: count)
        for ticket in try (0..<count).map({ try world.begin($0) }) { try world.complete(ticket) }
        var digesting = try world.next()
        while digesting.block < count - 1 {
            #expect((digesting.bytes != nil) == (digesting.block <= Upload.turn))
            digesting = try world.next(after: digesting)
        }
        #expect(digesting.bytes == nil)
    }

    @Test(arguments: ["finished", "abandoned", "dropped", "reset"])
    func requestsOfALargeUploadWaitForTheDigests(end: String) async throws {
        let world = try World(blocks: 40)
        let blocks = Upload.mostBehind + 1
        for ticket in try (0..<blocks).map({ try world.begin($0) }) { try world.complete(ticket) }
        let first = try world.next()
        let flag = Flag()
        let upload = world.upload
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    await upload.waitForDigests(afterBringing: 1)
                    flag.isSet.store(true, ordering: .relaxed)
                }
            }
            for _ in 0..<100 { await Task.yield() }
            let hasReturned = flag.isSet.load(ordering: .relaxed)
            #expect(!hasReturned)
            switch end {
            case "finished": _ = try world.next(after: first)
            case "abandoned": upload.abandon(first)
            case "dropped": _ = upload.drop()
            default: _ = upload.reset()
            }
            // Hangs if a request still waits.
            try await group.waitForAll()
        }
    }

    @Test(arguments: [1, 4])
    func requestsThatComeTogetherGoOnInTurn(count: Int) async throws {
        let world = try World(blocks: 100)
        for block in 0..<100 { world.upload.restore(block) }
        var digesting = try world.next()
        let upload = world.upload
        try await withThrowingTaskGroup(of: Void.self) { group in
            for waiting in 1...4 {
                group.addTask { await upload.waitForDigests(afterBringing: count) }
                try await Poll.until("the request to wait") { upload.waitingCount == waiting }
            }
            for left in [3, 2, 1, 0] {
                #expect(upload.waitingCount == left + 1)
                for _ in 0..<2 * count { digesting = try world.next(after: digesting) }
                #expect(upload.waitingCount == left)
            }
            // Hangs if a request still waits.
            try await group.waitForAll()
        }
    }

    /// After a restart, or behind a block that came late.
    @Test func aRequestWaitsForAFewBlocksOnly() async throws {
        let count = 50_000
        let world = try World(blocks: count)
        for block in 0..<count { world.upload.restore(block) }
        var digesting = try world.next()
        let flag = Flag()
        let upload = world.upload
        let request = Task {
            await upload.waitForDigests(afterBringing: 1)
            flag.isSet.store(true, ordering: .relaxed)
        }
        while !flag.isSet.load(ordering: .relaxed), digesting.block < count - 1 {
            try await Task.sleep(for: .milliseconds(2))
            digesting = try world.next(after: digesting)
        }
        #expect(digesting.block < count - 1)
        _ = upload.drop()
        await request.value
    }

    @Test func requestsOfASmallUploadDoNotWait() async throws {
        let world = try World(blocks: Upload.turn)
        for ticket in try (0..<Upload.turn).map({ try world.begin($0) }) { try world.complete(ticket) }
        _ = try world.next()
        await world.upload.waitForDigests(afterBringing: 1)
    }

    @Test func blocksBeyondTheMemoryLimitComeInPieces() throws {
        let buffers = BlockBuffers(limit: 1)
        var whole: BlockBuffer? = buffers.take()
        #expect(whole?.capacity == Self.blockSize)
        #expect(buffers.take().capacity < Self.blockSize)
        whole = nil
        #expect(buffers.take().capacity == Self.blockSize)
    }

    @Test(arguments: [false, true])
    func aFileArrivesWholeAlsoIfMemoryIsShort(isShort: Bool) async throws {
        let world = try await OneUpload(bytes: 20 * Self.blockSize - 77)
        let (store, upload) = (world.store, world.upload)
        let taken = isShort ? world.takeWholeBlocks() : []
        for block in [1, 0] + Array(2..<20) {
            var fragment = try #require(try Fragment.begin(block, of: upload, in: store))
            let bytes = world.bytes(of: block)
            for start in stride(from: 0, to: bytes.count, by: 100_000) {
                try bytes[start..<min(start + 100_000, bytes.count)].withUnsafeBytes { try fragment.append($0) }
            }
            try fragment.complete(in: store)
            store.advance(upload)
            await upload.waitForDigests(afterBringing: 1)
        }
        try await Poll.until("the file") { try world.hasArrived() }
        #expect(taken.isEmpty == !isShort)
    }
}
