import Foundation
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

    @Test func anOlderRequestTakesNoBlockFromANewerOne() async throws {
        let world = try await Self.eightBlocks()
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
        let world = try await Self.eightBlocks()
        var older = try world.request(0..<8)
        var newer = try world.request(2..<4)
        try world.send(2..<4, with: &newer)
        try world.send(0..<8, with: &older)
        try await Poll.until("the file") { try world.hasArrived() }
    }

    @Test func blocksThatComeBeforeAnotherRequestsBlocksStayInMemory() async throws {
        let world = try await Self.eightBlocks()
        let space = world.takeWholeBlocks().count
        var first = try world.request(0..<4)
        var second = try world.request(4..<8)
        try world.send(4..<8, with: &second)
        #expect(world.takeWholeBlocks().count == space - 4)
        try world.send(0..<4, with: &first)
        try await Poll.until("the file") { try world.hasArrived() }
    }

    @Test func aRequestThatEndsEarlyGivesUpAllItsBlocks() async throws {
        let world = try await Self.eightBlocks()
        let space = world.takeWholeBlocks().count
        let first = try world.request(0..<4)
        var second = try world.request(4..<8)
        first.abandon()
        try world.send(4..<8, with: &second)
        #expect(world.takeWholeBlocks().count == space)
    }

    private static func eightBlocks() async throws -> OneUpload { try await OneUpload(bytes: 8 * blockSize) }
}
