import Foundation
import Synchronization
import Testing

@Suite struct UploadTests {
    @Test func aFileSentInOneFragmentIsFinishedAtOnce() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(64 * 1024)
            let (_, path) = try server.upload(content, name: "beach.jpg")
            #expect(server.files("files") == ["local/beach.jpg"])
            #expect(try Data(contentsOf: server.root.appending(path: "files/local/beach.jpg")) == content)
            #expect(server.files("uploads").isEmpty)
            #expect(try server.get(path).body == content)
        }
    }

    @Test func aPathTriesOnlySoManyNamesForAllItsDirectories() async throws {
        try await TestServer.run { server in
            // At each of two levels, 60 files have the names of the directory: `a`, `a (2)` … `a (60)`.
            let top = server.root.appending(path: "files/local")
            for folder in [top, top.appending(path: "a (61)")] {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                for number in 1...60 {
                    try Data().write(to: folder.appending(path: number == 1 ? "a" : "a (\(number))"))
                }
            }
            try server.upload(TestServer.content(100), name: "n.jpg", path: "a/a/n.jpg")
            let linked = try #require(server.files("files").first { $0.hasSuffix("/n.jpg") })
            let folders = linked.split(separator: "/").dropFirst().dropLast()
            #expect(folders.first == "a (61)")
            #expect(folders.last?.wholeMatch(of: /[0-9a-f]{32}\.a/) != nil)
        }
    }

    @Test func aRequestMayBringSeveralSmallFiles() async throws {
        try await TestServer.run { server in
            let contents = (0..<16).map { TestServer.content(20_000 + $0, seed: UInt64($0)) }
            let files = try contents.enumerated().map { (try server.preLoad($1, name: "\($0).jpg").id, $1) }
            #expect(try server.sendTogether(files).status == 200)
            for (id, content) in files { #expect(try server.get(server.finishedPath(id)).body == content) }
            #expect(server.files("uploads").isEmpty)
            // Again, and beside a new one.
            let new = TestServer.content(50, seed: 99)
            let id = try server.preLoad(new, name: "new.jpg").id
            #expect(try server.sendTogether([files[3], (id, new), files[4]]).status == 200)
            #expect(try server.get(server.finishedPath(id)).body == new)
        }
    }

    @Test func aPartOfTheWrongLengthEndsTheRequestAndTheFilesBeforeItStay() async throws {
        try await TestServer.run { server in
            let contents = (0..<3).map { TestServer.content(1000, seed: UInt64($0)) }
            let ids = try contents.enumerated().map { try server.preLoad($1, name: "\($0).jpg").id }
            for change in [Data(contents[1].dropLast()), contents[1] + Data([7])] {
                let parts = [contents[0], change, contents[2]]
                let blocks = ids.map { ["id": $0, "totalSize": 1000, "blockTotal": 1, "blockNo": 1] as [String: Any] }
                let connection = try server.connection()
                try connection.send(
                    "POST", "/fileSection/upload.do", try server.uploadHeaders(blocks: blocks),
                    body: TestServer.multipart(parts))
                #expect(try connection.reply().status == 400)
                #expect(try server.get(server.finishedPath(ids[0])).body == contents[0])
                for id in ids.dropFirst() { #expect(try server.isFinish([id]).data["failFileIds"] as? String == id) }
            }
        }
    }

    @Test func groupsThatDoNotFitAreRefused() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(1000)
            let file = (try server.preLoad(content).id, content)
            #expect(try server.sendTogether([file, ("unknown", content)]).status == 404)
            #expect(try server.sendTogether([file] + Array(repeating: file, count: 16)).status == 400)
            let large = try (2..<6).map { seed in
                let content = TestServer.content(TestServer.blockSize, seed: UInt64(seed))
                return (try server.preLoad(content, name: "\(seed).jpg").id, content)
            }
            #expect(try server.sendTogether([file] + large).status == 413)
            #expect(try server.isFinish([file.0]).data["failFileIds"] as? String == file.0)
            #expect(try server.sendTogether(large).status == 200)
            #expect(try server.sendTogether([file]).status == 200)
        }
    }

    @Test func aGroupWithTooFewOrTooManyPartsIsRefused() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(1000)
            let id = try server.preLoad(content).id
            let block: [String: Any] = ["id": id, "totalSize": 1000, "blockTotal": 1, "blockNo": 1]
            for (blocks, parts) in [(2, 1), (1, 2)] {
                let connection = try server.connection()
                try connection.send(
                    "POST", "/fileSection/upload.do",
                    try server.uploadHeaders(blocks: Array(repeating: block, count: blocks)),
                    body: TestServer.multipart(Array(repeating: content, count: parts)))
                #expect(try connection.reply().status == 400)
            }
        }
    }

    @Test func theTimeOfTheOriginalIsKept() async throws {
        try await TestServer.run { server in
            try server.upload(TestServer.content(10))
            let path = server.root.appending(path: "files/local/a.jpg").path
            let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            #expect(date?.timeIntervalSince1970 == 1_767_323_045)
        }
    }

    @Test func fragmentsMayComeInAnyOrderAndTwice() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(5 * TestServer.blockSize + 17)
            let (id, _) = try server.preLoad(content)
            for number in [6, 3, 1, 3, 5, 1, 2, 4, 4] {
                #expect(try server.sendBlock(number, of: content, id: id).status == 200)
            }
            let path = try server.finishedPath(id)
            #expect(try server.get(path).body == content)
        }
    }

    @Test func fragmentsMayComeInParallel() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(12 * TestServer.blockSize)
            let (id, _) = try server.preLoad(content)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...12 {
                    group.addTask { try server.sendBlock(number, of: content, id: id).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            let path = try server.finishedPath(id)
            #expect(try server.get(path).body == content)
        }
    }

    @Test func aRestartGoesOnWithTheFragmentsThatArrived() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let content = TestServer.content(3 * TestServer.blockSize)
        let id = Mutex("")
        try await TestServer.run(root: root) { server in
            let given = try server.preLoad(content).id
            id.withLock { $0 = given }
            _ = try server.sendBlock(1, of: content, id: given)
            _ = try server.sendBlock(3, of: content, id: given)
        }
        try await TestServer.run(root: root) { server in
            let id = id.withLock { $0 }
            _ = try server.sendBlock(2, of: content, id: id)
            let path = try server.finishedPath(id)
            #expect(try server.get(path).body == content)
        }
        try await TestServer.run(root: root) { server in
            _ = try server.finishedPath(id.withLock { $0 })
        }
    }

    @Test func contentThatDoesNotMatchItsDigestCanBeSentAgain() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(1000)
            let (id, _) = try server.preLoad(content)
            #expect(try server.sendBlock(1, of: TestServer.content(1000, seed: 2), id: id).status == 200)
            let reply = try server.isFinish([id])
            #expect(reply.data["finishStatus"] as? Int == 0)
            #expect(reply.data["failFileIds"] as? String == id)
            #expect(server.files("files").isEmpty)
            _ = try server.sendBlock(1, of: content, id: id)
            #expect(try server.finishedPath(id).hasPrefix("/f/"))
        }
    }

    @Test func anUploadWithMissingFragmentsIsNotFinished() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(TestServer.blockSize + 1)
            let (id, _) = try server.preLoad(content)
            _ = try server.sendBlock(1, of: content, id: id)
            #expect(try server.isFinish([id]).data["failFileIds"] as? String == id)
            _ = try server.sendBlock(2, of: content, id: id)
            #expect(try server.finishedPath(id).hasPrefix("/f/"))
        }
    }

    @Test func contentThatIsThereAlreadyIsNotSentAgain() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(1000)
            let first = try server.upload(content, name: "a.jpg")
            let second = try server.preLoad(content, name: "b.jpg")
            #expect(second.isExisting)
            #expect(try server.finishedPath(second.id) == first.urlPath)
            #expect(server.files("files") == ["local/a.jpg", "local/b.jpg"])
            #expect(server.files("objects").count == 1)
        }
    }

    @Test func twoUploadsOfOneContentEndAsOneFile() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(1000)
            let first = try server.preLoad(content).id
            let second = try server.preLoad(content).id
            _ = try server.sendBlock(1, of: content, id: first)
            _ = try server.sendBlock(1, of: content, id: second)
            #expect(try server.finishedPath(first) == server.finishedPath(second))
            #expect(server.files("files") == ["local/a.jpg"])
            #expect(server.files("objects").count == 1)
        }
    }

    @Test func otherContentOfTheSameNameGetsANumber() async throws {
        try await TestServer.run { server in
            try server.upload(TestServer.content(10, seed: 1), path: "trip/a.jpg")
            try server.upload(TestServer.content(10, seed: 2), path: "trip/a.jpg")
            #expect(server.files("files") == ["local/trip/a (2).jpg", "local/trip/a.jpg"])
        }
    }

    @Test func contentThatVanishedIsNotCalledExisting() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(1000)
            let first = try server.upload(content)
            for path in server.files("objects") {
                try FileManager.default.removeItem(at: server.root.appending(path: "objects/\(path)"))
            }
            #expect(try server.isFinish([first.id]).status == 404)
            #expect(!(try server.preLoad(content).isExisting))
        }
    }

    @Test func deletedUploadsAreForgottenAndConfirmedContentStays() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(TestServer.blockSize * 2)
            let (open, _) = try server.preLoad(content)
            _ = try server.sendBlock(1, of: content, id: open)
            let done = try server.upload(TestServer.content(10))
            #expect(try server.post("/fileSection/delete.do", ["fileIds": [open, done.id, "x"]]).status == 200)
            #expect(server.files("uploads").isEmpty)
            #expect(try server.isFinish([open, done.id]).status == 404)
            #expect(try server.get(done.urlPath).status == 200)
        }
    }

    @Test(arguments: [("a.jpg", "A.jpg"), ("\u{e9}.jpg", "e\u{301}.jpg")])
    func namesThatDifferAlmostInvisiblyStayApart(first: String, second: String) async throws {
        try await TestServer.run { server in
            try server.upload(TestServer.content(10, seed: 1), path: first)
            try server.upload(TestServer.content(10, seed: 2), path: second)
            #expect(server.files("files").count == 2)
            #expect(server.files("objects").count == 2)
        }
    }

    @Test func theFirstTimeOfAContentStays() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(10)
            try server.upload(content, name: "a.jpg", modified: "2020-01-01T00:00:00Z")
            try server.upload(content, name: "b.jpg", modified: "2021-01-01T00:00:00Z")
            let path = server.root.appending(path: "files/local/b.jpg").path
            let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            #expect(date?.timeIntervalSince1970 == 1_577_836_800)
        }
    }

    @Test func manyUploadsAtOnceAreAllConfirmed() async throws {
        try await TestServer.run { server in
            try await withThrowingTaskGroup(of: String.self) { group in
                for seed in 0..<40 {
                    // Two uploads each share one content under different names.
                    group.addTask {
                        let content = TestServer.content(1000, seed: UInt64(seed / 2))
                        return try server.upload(content, name: "\(seed).jpg").urlPath
                    }
                }
                var paths: Set<String> = []
                for try await path in group {
                    #expect(try server.get(path).status == 200)
                    paths.insert(path)
                }
                #expect(paths.count == 20)
            }
            #expect(server.files("files").count == 40)
            #expect(server.files("objects").count == 20)
            #expect(server.files("uploads").isEmpty)
        }
    }
}
