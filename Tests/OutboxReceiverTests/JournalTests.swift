import Foundation
import NIOCore
import Testing

@testable import OutboxReceiver

@Suite struct JournalTests {
    private static let plan = UploadPlan(
        user: "a", size: 1 << 20, md5: .random(), fileName: "tab\there\n100%", path: nil, type: "image/jpeg",
        modified: -5)

    private static let entries: [JournalEntry] = [
        .opened(.random(), plan, at: 1), .block(.random(), 7), .reset(.random()),
        .content(
            Content(
                key: plan.content, token: .random(), object: ObjectName(md5: plan.md5, variant: 2), name: "n",
                type: "video/mp4")),
        .finished(.random(), user: "a", content: .random(), at: 3), .forgotten(.random()),
        .committed(
            Commit(
                key: Commit.Key(user: "a", sourceID: "s", revision: 2), token: .random(), title: "", createDate: "d",
                cover: nil, contents: [.random(), .random()])),
    ]

    private func inTemporaryFolder(_ body: (Folder, String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(try Folder.root(at: path), path)
    }

    @Test func whatIsAppendedIsReadBack() throws {
        try inTemporaryFolder { folder, _ in
            var journal = try Journal(appendingIn: folder)
            try journal.append(Self.entries)
            var read: [JournalEntry] = []
            _ = try Journal.read(folder) { read.append($0) }
            #expect(read == Self.entries)
        }
    }

    @Test func aTornLineIsSkipped() throws {
        try inTemporaryFolder { folder, path in
            var journal = try Journal(appendingIn: folder)
            try journal.append(Self.entries)
            let file = URL(filePath: path + "/journal")
            try Data(contentsOf: file).dropLast(10).write(to: file)
            var read: [JournalEntry] = []
            let (lines, bad) = try Journal.read(folder) { read.append($0) }
            #expect(read == Self.entries.dropLast())
            #expect((lines, bad) == (Self.entries.count, 1))
        }
    }

    @Test(arguments: [1, 2, 3, 7, 64, 1000])
    func theParserDoesNotCareHowABodyIsCut(size: Int) throws {
        let payload = TestServer.content(500)
        let body = Data("preamble\r\n".utf8) + TestServer.multipart(payload) + Data("epilogue".utf8)
        var parser = try SectionParser(
            contentType: "multipart/form-data; boundary=\"\(TestServer.boundary)\"", name: "sectionFile", length: 500)
        var received = Data()
        for start in stride(from: 0, to: body.count, by: size) {
            let piece = body[start..<min(start + size, body.count)]
            if let bytes = try parser.payload(in: .init(bytes: piece)) {
                received.append(contentsOf: bytes.readableBytesView)
            }
        }
        try parser.finish()
        #expect(received == payload)
    }
}
