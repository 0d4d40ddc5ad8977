import Foundation
import Testing

@testable import OutboxReceiver

/// `outbox-receiver find`, as far as it is no process.
@Suite struct FindTests {
    /// A root with a journal, without a receiver.
    private final class Root {
        let path: String
        private let folder: Folder

        init() throws {
            path = FileManager.default.temporaryDirectory.appending(path: "find-\(UUID().uuidString)").path
            folder = try Folder.root(at: path)
            _ = try ObjectStore(folder)
        }

        deinit {
            try? FileManager.default.removeItem(atPath: path)
        }

        func append(_ entries: [JournalEntry]) throws {
            var journal = try Journal(appendingIn: folder)
            try journal.append(entries)
        }

        func append(_ contents: [Content]) throws { try append(contents.map { .content($0) }) }

        func store(_ bytes: Data, as content: Content) throws {
            try bytes.write(to: URL(filePath: "\(path)/objects/\(content.object.path)"))
        }

        /// Links an object under a path below `files/`.
        func link(_ content: Content, as name: String) throws {
            let link = URL(filePath: "\(path)/files/\(name)")
            try FileManager.default.createDirectory(
                at: link.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.linkItem(atPath: "\(path)/objects/\(content.object.path)", toPath: link.path)
        }

        func find(_ name: String, user: String? = nil, reads: Bool = false) throws -> [JSON] {
            try FindTests.find(name, in: path, user: user, reads: reads)
        }
    }

    private static func find(
        _ name: String, in root: String, user: String? = nil, reads: Bool = false
    ) throws -> [JSON] {
        let search = try #require(
            FileSearch(root: root, name: name, user: user, publicURL: nil, readsContents: reads))
        var lines: [String] = []
        #expect(try search.run(asJSON: true) { lines.append($0) } == lines.count)
        return try lines.map { try #require(JSONParser.value(of: $0)) }
    }

    private static func content(
        _ bytes: Data, user: String = "a", name: String = "n.jpg", token: Hex128 = .random(), at time: Int64? = 5,
        paths: [String] = [], sha256: Hex256? = nil
    ) throws -> Content {
        let md5 = try #require(Hex128(TestServer.md5(bytes)))
        var content = Content(
            key: ContentKey(user: user, md5: md5, size: Int64(bytes.count)), token: token,
            object: ObjectName(md5: md5, variant: 0), name: name, type: "image/jpeg", sha256: sha256, at: time)
        _ = content.add(paths: paths)
        return content
    }

    private static func texts(_ member: String, of files: [JSON]) -> [String] {
        files.compactMap { $0[member]?.string }
    }

    // MARK: The journal

    @Test func matchesAreListedNewestFirst() throws {
        let root = try Root()
        let (old, undated) = (try Self.content(Data("1".utf8), at: 1), try Self.content(Data("2".utf8), at: nil))
        let (new, later) = (try Self.content(Data("3".utf8), at: 9), try Self.content(Data("4".utf8), at: nil))
        try root.append([old, new, undated, later, try Self.content(Data("5".utf8), name: "other.jpg")])
        // The finished id dates a content of an older version.
        try root.append([.finished(.random(), user: "a", content: later.token, at: 7)])
        let found = try root.find("N.jpg")
        #expect(Self.texts("md5", of: found) == [new, later, old, undated].map(\.key.md5.description))
        #expect(found.last?["time"] == nil)
        #expect(try root.find("m.jpg").isEmpty)
    }

    @Test func aUserCanBeNamed() throws {
        let root = try Root()
        try root.append([
            try Self.content(Data("1".utf8), user: "a"), try Self.content(Data("2".utf8), user: "b"),
        ])
        #expect(Self.texts("user", of: try root.find("n.jpg")).sorted() == ["a", "b"])
        #expect(Self.texts("user", of: try root.find("n.jpg", user: "b")) == ["b"])
        #expect(try root.find("n.jpg", user: "c").isEmpty)
    }

    @Test func aLaterLineReplacesAnEarlierOne() throws {
        let root = try Root()
        let (bytes, token) = (Data("1".utf8), Hex128.random())
        try root.append([
            try Self.content(bytes, name: "old.jpg", token: token),
            try Self.content(bytes, name: "new.jpg", token: token),
        ])
        #expect(try root.find("old.jpg").isEmpty)
        #expect(try root.find("new.jpg").count == 1)
        // Another content in the same object, under another token.
        try root.append([try Self.content(bytes, name: "twin.jpg")])
        #expect(try root.find("new.jpg").isEmpty)
        #expect(try root.find("*").count == 1)
    }

    @Test func aTornLastLineIsPassedOver() throws {
        let root = try Root()
        try root.append([try Self.content(Data("1".utf8)), try Self.content(Data("2".utf8))])
        let file = URL(filePath: root.path + "/journal")
        try Data(contentsOf: file).dropLast(10).write(to: file)
        #expect(try root.find("n.jpg").count == 1)
    }

    @Test func aSearchChangesNothing() throws {
        let root = try Root()
        let bytes = Data("1".utf8)
        let content = try Self.content(bytes)
        try root.append([content])
        try root.store(bytes, as: content)
        let file = URL(filePath: root.path + "/journal")
        try Data(contentsOf: file).dropLast(3).write(to: file)
        let before = (try Data(contentsOf: file), try FileManager.default.subpathsOfDirectory(atPath: root.path))
        _ = try root.find("n.jpg", reads: true)
        #expect(try Data(contentsOf: file) == before.0)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted() == before.1.sorted())
    }

    // MARK: Objects

    @Test func missingAndDamagedObjectsAreNamed() throws {
        let root = try Root()
        let bytes = (0..<5).map { Data("bytes \($0)".utf8) }
        let wrong = Hex256(String(repeating: "0f", count: 32))
        let contents = [
            try Self.content(bytes[0], name: "whole"), try Self.content(bytes[1], name: "missing"),
            try Self.content(bytes[2], name: "short"), try Self.content(bytes[3], name: "changed"),
            try Self.content(bytes[4], name: "forged", sha256: wrong),
        ]
        try root.append(contents)
        try root.store(bytes[0], as: contents[0])
        try root.store(bytes[2].dropLast(), as: contents[2])
        try root.store(Data("BYTES 3".utf8), as: contents[3])
        try root.store(bytes[4], as: contents[4])
        for (name, state, readState) in [
            ("whole", "there", "whole"), ("missing", "missing", "missing"), ("short", "damaged", "damaged"),
            ("changed", "there", "damaged"), ("forged", "there", "damaged"),
        ] {
            #expect(Self.texts("state", of: try root.find(name)) == [state], "\(name)")
            #expect(Self.texts("state", of: try root.find(name, reads: true)) == [readState], "\(name), read")
        }
    }

    @Test func aLargeObjectIsReadToItsEnd() throws {
        let root = try Root()
        var bytes = Data(repeating: 7, count: (17 << 20) + 5)
        let content = try Self.content(bytes)
        try root.append([content])
        try root.store(bytes, as: content)
        #expect(Self.texts("state", of: try root.find("n.jpg", reads: true)) == ["whole"])
        bytes[bytes.count - 1] ^= 1
        try root.store(bytes, as: content)
        #expect(Self.texts("state", of: try root.find("n.jpg", reads: true)) == ["damaged"])
    }

    // MARK: Paths

    @Test func thePathIsThePresentOne() throws {
        let root = try Root()
        let bytes = Data("1".utf8)
        let content = try Self.content(bytes, paths: ["trip/n.jpg", "copies/n.jpg"])
        try root.append([content])
        try root.store(bytes, as: content)
        try root.link(content, as: "a/trip/n.jpg")
        try root.link(content, as: "a/copies/n.jpg")
        #expect(Self.texts("path", of: try root.find("trip/n.jpg")) == ["trip/n.jpg"])
        #expect(Self.texts("path", of: try root.find("copies/n.jpg")) == ["copies/n.jpg"])
        let files = root.path + "/files/a"
        try FileManager.default.removeItem(atPath: files + "/trip/n.jpg")
        #expect(Self.texts("path", of: try root.find("trip/n.jpg")) == ["copies/n.jpg"])
        try FileManager.default.createDirectory(atPath: files + "/kept/deep", withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: files + "/copies/n.jpg", toPath: files + "/kept/deep/renamed.jpg")
        #expect(Self.texts("path", of: try root.find("trip/n.jpg")) == ["kept/deep/renamed.jpg"])
        try FileManager.default.removeItem(atPath: files)
        #expect(Self.texts("path", of: try root.find("trip/n.jpg")) == ["trip/n.jpg"])
    }

    @Test func contentsOfAnOlderVersionAreFoundWhereTheyAre() throws {
        let root = try Root()
        let bytes = Data("1".utf8)
        let content = try Self.content(bytes)
        try root.append([content])
        try root.store(bytes, as: content)
        // Other content now has the name that the journal remembers.
        let other = try Self.content(Data("2".utf8), user: "b")
        try root.store(Data("2".utf8), as: other)
        try root.link(other, as: "a/n.jpg")
        try root.link(content, as: "a/2026/trip/n.jpg")
        for name in ["n.jpg", "trip/n.jpg", "2026/*/n*"] {
            #expect(Self.texts("path", of: try root.find(name)) == ["2026/trip/n.jpg"], "\(name)")
        }
        #expect(try root.find("other/n.jpg").isEmpty)
    }

    // MARK: Beside a receiver

    @Test func whatARunningReceiverTookIsFound() async throws {
        try await TestServer.run(configure: { $0.tokens = "a-token a, b-token b" }) { server in
            let (first, second) = (TestServer.content(1000), TestServer.content(2000, seed: 2))
            let url = try server.upload(first, name: "n.jpg", path: "trip/n.jpg", token: "a-token").urlPath
            try server.upload(second, name: "n.jpg", path: "trip/n.jpg", token: "a-token")
            try server.upload(first, name: "copy.jpg", path: "copies/copy.jpg", token: "a-token")
            try server.upload(first, name: "n.jpg", token: "b-token")
            let found = try Self.find("trip/n.jpg", in: server.root.path, reads: true)
            #expect(Set(Self.texts("path", of: found)) == ["trip/n.jpg", "trip/n (2).jpg"])
            #expect(Self.texts("state", of: found) == ["whole", "whole"])
            #expect(Self.texts("url", of: found).contains(url))
            let copies = try Self.find("copy.jpg", in: server.root.path)
            #expect(Self.texts("path", of: copies) == ["copies/copy.jpg"])
            #expect(Self.texts("url", of: copies) == [url])
            #expect(Self.texts("path", of: try Self.find("*", in: server.root.path, user: "b")) == ["n.jpg"])
        }
    }

    @Test func pathsOutliveARewriteOfTheJournal() async throws {
        let upload = try await OneUpload(bytes: 10)
        let key = ContentKey(user: "a", md5: .random(), size: 1)
        var content = Content(
            key: key, token: .random(), object: ObjectName(md5: key.md5, variant: 0), name: "n.jpg",
            type: "image/jpeg")
        _ = content.add(paths: ["trip/n.jpg", "copies/m.jpg"])
        let stored = content
        try upload.store.withBooks { books in
            try books.journal.append([.content(stored)])
            books.catalog.add(stored)
        }
        try upload.store.compactJournal()
        #expect(try Self.find("copies/m.jpg", in: upload.root.path).count == 1)
    }

    // MARK: Output

    @Test func linesForPeopleAreAligned() throws {
        let root = try Root()
        let bytes = Data("a".utf8)
        let first = try Self.content(bytes, at: nil, paths: ["trip/n.jpg"])
        let second = try Self.content(Data("bc".utf8), user: "benjamin", name: "n\u{202e}.jpg", at: nil)
        try root.append([first, second])
        try root.store(bytes, as: first)
        let search = try #require(
            FileSearch(
                root: root.path, name: "n*.jpg", user: nil, publicURL: "https://x.example/", readsContents: false))
        var lines: [String] = []
        #expect(try search.run(asJSON: false) { lines.append($0) } == 2)
        let expected = [
            "there    unknown  a         1 byte   \(first.key.md5)  trip/n.jpg     "
                + "https://x.example/f/\(first.token)/n.jpg",
            "missing  unknown  benjamin  2 bytes  \(second.key.md5)  n\\u{202e}.jpg  "
                + "https://x.example/f/\(second.token)/n%E2%80%AE.jpg",
        ]
        #expect(lines.sorted() == expected.sorted())
    }

    @Test func aLineForProgramsHasAllMembers() throws {
        let root = try Root()
        let content = try Self.content(Data("a".utf8), at: 1_800_000_000, paths: ["trip/\"n\".jpg"])
        try root.append([content])
        let search = try #require(
            FileSearch(root: root.path, name: "n.jpg", user: nil, publicURL: nil, readsContents: false))
        var lines: [String] = []
        #expect(try search.run(asJSON: true) { lines.append($0) } == 1)
        let expected =
            #"{"path":"trip/\"n\".jpg","user":"a","size":1,"md5":"\#(content.key.md5)","time":"2027-01-15T08:00:00Z","#
            + #""url":"/f/\#(content.token)/n.jpg","state":"missing"}"#
        #expect(lines == [expected])
    }

    @Test func aDirectoryThatIsNoRootIsNamed() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "find-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let search = try #require(
            FileSearch(root: path, name: "n.jpg", user: nil, publicURL: nil, readsContents: false))
        for exists in [false, true] {
            if exists { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
            let failure = #expect(throws: SearchFailure.self) { try search.run(asJSON: false) { _ in } }
            #expect(failure?.exitCode == 66)
            #expect(failure?.description.hasPrefix("\(path) is not the root of a receiver") == true)
            #expect(FileManager.default.fileExists(atPath: path) == exists, "nothing is created")
        }
        #expect(FileSearch(root: path, name: "/", user: nil, publicURL: nil, readsContents: false) == nil)
    }
}
