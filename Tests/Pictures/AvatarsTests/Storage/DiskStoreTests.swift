import Foundation
import LinuxSystem
import PictureJobs
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import Avatars

/// A mirror in a temporary directory, and its files.
private struct Mirror {
    let place: TemporaryDirectory
    let store: DiskAvatarStore

    init() throws {
        place = try TemporaryDirectory()
        store = try DiskAvatarStore(directory: place.path("avatars"))
    }

    var path: String { place.path("avatars") }

    /// Paths of all files, relative to the mirror, without the lock and the files of the workshops.
    var files: [String] {
        var files: [String] = []
        guard let walk = FileManager.default.enumerator(atPath: path) else { return [] }
        for case let name as String in walk where walk.fileAttributes?[.type] as? FileAttributeType != .typeDirectory {
            if name != ".lock" && !name.hasPrefix(".tmp/") { files.append(name) }
        }
        return files.sorted()
    }

    /// Like ``files``, without records.
    var pictures: [String] { files.filter { !$0.hasPrefix(".records/") } }

    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(path)/\(name)") }

    @discardableResult
    func keep(_ text: String, as url: String) throws -> StoredPicture {
        let address = try AvatarAddress(url)
        return try store.keep(store.draft(text), asOriginalOf: address, .sample(address, tag: text))
    }

    func text(of url: String) throws -> String? { try store.original(of: AvatarAddress(url))?.picture.text }
}

@Suite struct `The mirror on disk` {
    @Test func `nobody else may hold its lock, also one that an earlier version made`() throws {
        let directory = try TemporaryDirectory()
        for _ in 0..<2 {
            _ = try DiskAvatarStore(directory: directory.path)
            #expect(try FileStatus(path: directory.path("/.lock")).permissions == 0o600)
            #expect(chmod(directory.path("/.lock"), 0o644) == 0)
        }
    }

    @Test func `stands where the contract says`() throws {
        let mirror = try Mirror()
        let original = try mirror.keep("one", as: "http://example.com:8080/u/42.jpg!150x150?v=1")
        #expect(original.path == "\(mirror.path)/example.com_8080/u/42.jpg!150x150%3Fv=1")
        let address = try AvatarAddress("http://example.com:8080/u/42.jpg!150x150?v=1")
        let drawn = try mirror.store.keep(
            mirror.store.draft("drawn"), asStyled: address, .round, drawnFrom: original)
        #expect(
            drawn.path
                == "\(mirror.path)/.styles/round:96x96,r=48,b=2/example.com_8080/u/42.jpg!150x150%3Fv=1.png")
        #expect(try String(contentsOfFile: drawn.path ?? "", encoding: .utf8) == "drawn")
        try mirror.store.remove(address)
        #expect(mirror.files.isEmpty)
        #expect(!mirror.exists("example.com_8080") && !mirror.exists(".styles/round:96x96,r=48,b=2"))
    }

    @Test(arguments: [
        ("list", "list"), ("a/b", "a%2Fb"), ("..", "%2E."), (".", "%2E"), ("", "%empty"), ("50%", "50%25"),
        ("ü", "ü"), ("a\tb", "a%09b"),
    ])
    func `styles of any name have a directory of their own`(name: String, directory: String) throws {
        let mirror = try Mirror()
        let style = try #require(PictureStyle(name: name, steps: [.rect(width: 1, height: 1)]))
        let original = try mirror.keep("one", as: "http://h/a")
        let address = try AvatarAddress("http://h/a")
        let drawn = try mirror.store.keep(mirror.store.draft("drawn"), asStyled: address, style, drawnFrom: original)
        #expect(drawn.path == "\(mirror.path)/.styles/\(directory)/h/a.png")
        #expect(try mirror.store.styled(address, style)?.text == "drawn")
    }

    @Test func `a part that is a file first becomes a directory, and both are found`() throws {
        let mirror = try Mirror()
        try mirror.keep("file", as: "http://h/a")
        try mirror.keep("below", as: "http://h/a/b")
        try mirror.keep("deeper", as: "http://h/a/b/c")
        #expect(mirror.pictures == ["h/a%file", "h/a/b%file", "h/a/b/c"])
        #expect(try mirror.text(of: "http://h/a") == "file")
        #expect(try mirror.text(of: "http://h/a/b") == "below")
        #expect(try mirror.text(of: "http://h/a/b/c") == "deeper")
    }

    @Test func `a part that is a directory first gets a file beside it, and both are found`() throws {
        let mirror = try Mirror()
        try mirror.keep("below", as: "http://h/a/b")
        let file = try mirror.keep("file", as: "http://h/a")
        #expect(file.path == "\(mirror.path)/h/a%file")
        #expect(mirror.pictures == ["h/a%file", "h/a/b"])
        try mirror.keep("file 2", as: "http://h/a")
        #expect(try mirror.text(of: "http://h/a") == "file 2")
        #expect(try mirror.text(of: "http://h/a/b") == "below")
        // After the directory's removal, the file gets its plain name.
        try mirror.store.remove(AvatarAddress("http://h/a/b"))
        #expect(try mirror.text(of: "http://h/a") == "file 2")
        try mirror.keep("file 3", as: "http://h/a")
        #expect(mirror.pictures == ["h/a"])
        try mirror.store.remove(AvatarAddress("http://h/a"))
        #expect(mirror.files.isEmpty)
    }

    @Test func `styled pictures that clash are both found`() throws {
        let mirror = try Mirror()
        for url in ["http://h/a", "http://h/a.png/b"] {
            let original = try mirror.keep(url, as: url)
            _ = try mirror.store.keep(
                mirror.store.draft("drawn \(url)"), asStyled: AvatarAddress(url), .small, drawnFrom: original)
        }
        for url in ["http://h/a", "http://h/a.png/b"] {
            #expect(try mirror.store.styled(AvatarAddress(url), .small)?.text == "drawn \(url)")
        }
        for url in ["http://h/a", "http://h/a.png/b"] { try mirror.store.remove(AvatarAddress(url)) }
        #expect(mirror.files.isEmpty)
    }

    @Test func `URLs whose hashes collide never show each other's picture`() throws {
        let mirror = try Mirror()
        let (one, two) = try AvatarAddress.twoAtOnePlace
        let first = try mirror.keep("one", as: one.url)
        _ = try mirror.store.keep(mirror.store.draft("drawn"), asStyled: one, .small, drawnFrom: first)
        try mirror.keep("two", as: two.url)
        #expect(try mirror.store.original(of: one) == nil)
        #expect(try mirror.text(of: two.url) == "two")
        #expect(try mirror.store.styled(two, .small) == nil)
        let now = WallTime(milliseconds: 0)
        #expect(
            try mirror.store.trim(maximumSize: 1 << 30, maximumAge: nil, now: now, sparing: { _ in false }).removed
                .isEmpty)
        #expect(try mirror.text(of: two.url) == "two")
        try mirror.keep("one again", as: one.url)
        #expect(try mirror.store.original(of: two) == nil)
        #expect(try mirror.text(of: one.url) == "one again")
    }

    @Test func `is the same after a restart`() throws {
        let mirror = try Mirror()
        let address = try AvatarAddress("http://h/a")
        let original = try mirror.keep("one", as: address.url)
        _ = try mirror.store.keep(mirror.store.draft("drawn"), asStyled: address, .small, drawnFrom: original)
        mirror.store.touch(address, at: WallTime(milliseconds: 777_000))
        let again = try DiskAvatarStore(directory: mirror.path + "/")
        #expect(try again.original(of: address)?.picture.text == "one")
        #expect(try again.original(of: address)?.picture.path == original.path)
        #expect(try again.styled(address, .small)?.text == "drawn")
        #expect(try again.entries().map(\.usedAt) == [WallTime(milliseconds: 777_000)])
        #expect(try again.entries() == mirror.store.entries())
    }

    @Test func `a changed record does not count as a use`() throws {
        let mirror = try Mirror()
        let address = try AvatarAddress("http://h/a")
        try mirror.keep("one", as: address.url)
        mirror.store.touch(address, at: WallTime(milliseconds: 777_000))
        try mirror.store.update(.sample(address, fetchedAt: 999_000), of: address)
        #expect(try mirror.store.entries().map(\.usedAt) == [WallTime(milliseconds: 777_000)])
    }

    @Test func `a directory that was removed is made again`() throws {
        let mirror = try Mirror()
        try mirror.keep("one", as: "http://h/a")
        try FileManager.default.removeItem(atPath: mirror.path)
        #expect(try mirror.text(of: "http://h/a") == nil)
        try mirror.keep("two", as: "http://h/a")
        #expect(try mirror.text(of: "http://h/a") == "two")
        #expect(mirror.pictures == ["h/a"])
    }
}

@Suite struct `The mirror on disk and others` {
    @Test(arguments: [[], [".records"], [".tmp"]])
    func `a directory that was replaced or lost its own parts is opened again`(lost: [String]) throws {
        let mirror = try Mirror()
        try mirror.keep("one", as: "http://h/a")
        for name in lost { try FileManager.default.removeItem(atPath: "\(mirror.path)/\(name)") }
        if lost.isEmpty {
            try FileManager.default.removeItem(atPath: mirror.path)
            try FileManager.default.createDirectory(atPath: mirror.path, withIntermediateDirectories: true)
        }
        try mirror.keep("two", as: "http://h/a")
        #expect(try mirror.text(of: "http://h/a") == "two")
        #expect(try String(contentsOfFile: "\(mirror.path)/h/a", encoding: .utf8) == "two")
    }

    @Test func `the record of a newer program stays`() throws {
        let mirror = try Mirror()
        let text = "{\"version\": 2, \"whatever\": true}"
        try text.write(toFile: "\(mirror.path)/.records/x.json", atomically: true, encoding: .utf8)
        try "{\"version\": 0}".write(toFile: "\(mirror.path)/.records/y.json", atomically: true, encoding: .utf8)
        _ = try mirror.store.trim(
            maximumSize: 0, maximumAge: nil, now: WallTime(milliseconds: 0), sparing: { _ in false })
        #expect(mirror.files == [".records/x.json"])
    }

    @Test func `what is secured is there as before`() throws {
        let mirror = try Mirror()
        try mirror.keep("one", as: "http://h/u/a")
        try mirror.store.secure(AvatarAddress("http://h/u/a"))
        try mirror.store.secure(AvatarAddress("http://h/u/none"))
        #expect(try mirror.text(of: "http://h/u/a") == "one")
    }

    @Test func `files that somebody put there are neither shown nor counted nor removed`() throws {
        let mirror = try Mirror()
        try FileManager.default.createDirectory(atPath: mirror.path + "/h", withIntermediateDirectories: true)
        try Data("foreign".utf8).write(to: URL(fileURLWithPath: mirror.path + "/h/a"))
        try Data("link".utf8).write(to: URL(fileURLWithPath: mirror.path + "/current.jpg"))
        #expect(try mirror.text(of: "http://h/a") == nil)
        #expect(try mirror.store.entries().isEmpty)
        let now = WallTime(milliseconds: 1 << 50)
        #expect(
            try mirror.store.trim(maximumSize: 0, maximumAge: .zero, now: now, sparing: { _ in false }).removed.isEmpty)
        #expect(mirror.pictures == ["current.jpg", "h/a"])
        try mirror.keep("one", as: "http://h/a")
        #expect(try mirror.text(of: "http://h/a") == "one")
    }

    @Test func `a picture that somebody changed is not shown any more`() throws {
        let mirror = try Mirror()
        let original = try mirror.keep("one", as: "http://h/a")
        try Data("two".utf8).write(to: URL(fileURLWithPath: try #require(original.path)))
        #expect(try mirror.text(of: "http://h/a") == nil)
    }

    @Test func `symbolic links below the directory are never followed`() throws {
        let mirror = try Mirror()
        let outside = try TemporaryDirectory()
        try FileManager.default.createSymbolicLink(atPath: mirror.path + "/h", withDestinationPath: outside.path)
        #expect(try mirror.text(of: "http://h/a") == nil)
        let error = try #require(throws: AvatarStoreError.self) { try mirror.keep("one", as: "http://h/a") }
        #expect(error.description.contains("remove the symbolic links"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
        #expect(mirror.pictures == ["h"], "nothing is left of what failed")
        #expect(try mirror.store.entries().isEmpty)

        // The store replaces a symbolic link at a picture's place and does not write through the link.
        let secret = outside.path("secret")
        try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
        try FileManager.default.createDirectory(atPath: mirror.path + "/g", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: mirror.path + "/g/a", withDestinationPath: secret)
        try mirror.keep("one", as: "http://g/a")
        #expect(try String(contentsOfFile: secret, encoding: .utf8) == "secret")
        #expect(try mirror.text(of: "http://g/a") == "one")
    }

    @Test func `what fails leaves what was`() throws {
        let mirror = try Mirror()
        let address = try AvatarAddress("http://h/a")
        let original = try mirror.keep("one", as: address.url)
        _ = try mirror.store.keep(mirror.store.draft("drawn"), asStyled: address, .small, drawnFrom: original)
        // The store can't keep a draft whose file is gone.
        let draft = try mirror.store.draft("two")
        try Self.removeDrafts(in: mirror)
        #expect(throws: AvatarStoreError.self) {
            try mirror.store.keep(draft, asOriginalOf: address, .sample(address, tag: "two"))
        }
        #expect(try mirror.text(of: address.url) == "one")
        #expect(try mirror.store.original(of: address)?.record.entityTag == "one")
        #expect(try mirror.store.styled(address, .small)?.text == "drawn")
        #expect(throws: AvatarStoreError.self) {
            try mirror.store.keep(draft, asStyled: address, .round, drawnFrom: original)
        }
        #expect(try mirror.store.entries().map(\.styles) == [["rect:96x96"]])
    }

    /// Removes all files of the workshops except the locks.
    private static func removeDrafts(in mirror: Mirror) throws {
        let workshops = mirror.path + "/.tmp"
        for name in try FileManager.default.subpathsOfDirectory(atPath: workshops)
        where name.contains("/") && !name.hasSuffix("/lock") {
            try FileManager.default.removeItem(atPath: "\(workshops)/\(name)")
        }
    }

    @Test func `what a kill left is removed, what is in use is not`() throws {
        let mirror = try Mirror()
        let draft = try mirror.store.draft("one")
        for name in ["dead", "deader"] {
            let workshop = "\(mirror.path)/.tmp/\(name)"
            try FileManager.default.createDirectory(atPath: workshop, withIntermediateDirectories: true)
            try Data("half".utf8).write(to: URL(fileURLWithPath: workshop + "/1"))
        }
        try Data().write(to: URL(fileURLWithPath: "\(mirror.path)/.tmp/dead/lock"))
        let other = try DiskAvatarStore(directory: mirror.path)
        #expect(!mirror.exists(".tmp/dead") && !mirror.exists(".tmp/deader"))
        let address = try AvatarAddress("http://h/a")
        _ = try mirror.store.keep(draft, asOriginalOf: address, .sample(address))
        #expect(try other.original(of: address)?.picture.text == "one")
    }

    @Test func `a draft that is not kept leaves nothing, nor does a store`() throws {
        let place = try TemporaryDirectory()
        do {
            let store = try DiskAvatarStore(directory: place.path)
            _ = try store.draft("one")
            let workshop = try #require(try FileManager.default.contentsOfDirectory(atPath: place.path(".tmp")).first)
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.path(".tmp/\(workshop)")) == ["lock"])
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path(".tmp")).isEmpty)
    }

    @Test func `a kill between record and picture shows neither with the other`() throws {
        let mirror = try Mirror()
        let address = try AvatarAddress("http://h/a")
        let original = try mirror.keep("one", as: address.url)
        _ = try mirror.store.keep(mirror.store.draft("drawn"), asStyled: address, .small, drawnFrom: original)
        // Does all steps of keeping a new original before the picture is renamed.
        let draft = try mirror.store.draft("two")
        let files = try MirrorDirectory(path: mirror.path)
        let stamp = try MirrorRecord.Stamp.mark(draft.file.rawValue)
        try files.write(
            MirrorRecord(
                record: .sample(address, tag: "two"), original: stamp,
                styled: try #require(try files.record(of: address)).styled),
            of: address, usedAt: WallTime(milliseconds: 0), isNew: false)
        #expect(try mirror.store.original(of: address) == nil)
        #expect(try mirror.store.styled(address, .small) == nil)
        #expect(try mirror.store.entries().isEmpty)
        #expect(
            try mirror.store.trim(
                maximumSize: 1 << 30, maximumAge: nil, now: WallTime(milliseconds: 0), sparing: { _ in false }
            )
            .removed.isEmpty)
        #expect(mirror.files.isEmpty, "nobody else would remove them")
    }

    @Test func `a kill before the former styles are removed shows none of them, and loses none`() throws {
        let mirror = try Mirror()
        let address = try AvatarAddress("http://h/a")
        let original = try mirror.keep("one", as: address.url)
        _ = try mirror.store.keep(mirror.store.draft("drawn"), asStyled: address, .small, drawnFrom: original)
        let files = try MirrorDirectory(path: mirror.path)
        let styled = try #require(try files.record(of: address)).styled
        let drawn = try Data(contentsOf: URL(fileURLWithPath: mirror.path + "/.styles/rect:96x96/h/a.png"))
        try mirror.keep("two", as: address.url)
        // Restores the state before the removal of the former styles: new record and picture, but the old styles.
        var record = try #require(try files.record(of: address))
        record.styled = styled
        try files.write(record, of: address, usedAt: WallTime(milliseconds: 0), isNew: false)
        try FileManager.default.createDirectory(
            atPath: mirror.path + "/.styles/rect:96x96/h", withIntermediateDirectories: true)
        try drawn.write(to: URL(fileURLWithPath: mirror.path + "/.styles/rect:96x96/h/a.png"))
        #expect(try mirror.text(of: address.url) == "two")
        #expect(try mirror.store.styled(address, .small) == nil)
        #expect(try mirror.store.entries().map(\.styles) == [[]])
        try mirror.store.remove(address)
        #expect(mirror.files.isEmpty)
    }

    @Test func `what is no record is taken for none, and goes when pictures are trimmed`() throws {
        let mirror = try Mirror()
        try mirror.keep("one", as: "http://h/a")
        let records = mirror.path + "/.records"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: records).first)
        for text in ["", "{", "{\"version\": 2}", "[]"] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(records)/\(name)"))
            #expect(try mirror.text(of: "http://h/a") == nil)
            #expect(try mirror.store.entries().isEmpty)
        }
        _ = try mirror.store.trim(
            maximumSize: 1 << 30, maximumAge: nil, now: WallTime(milliseconds: 0), sparing: { _ in false })
        #expect(mirror.files == ["h/a"])
    }

    @Test func `who reads while others replace sees each picture with its own record`() async throws {
        let mirror = try Mirror()
        let address = try AvatarAddress("http://h/a/b")
        try mirror.keep("picture 0", as: address.url)
        let writer = try DiskAvatarStore(directory: mirror.path)
        let rival = try DiskAvatarStore(directory: mirror.path)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (store, name) in [(writer, "picture"), (rival, "image")] {
                group.addTask {
                    for round in 1...60 {
                        let text = "\(name) \(round)"
                        let original = try store.keep(
                            store.draft(text), asOriginalOf: address, .sample(address, tag: text))
                        _ = try store.keep(
                            store.draft("drawn from \(text)"), asStyled: address, .small, drawnFrom: original)
                        // Keeps and removes a picture at the place of the directory.
                        let parent = try AvatarAddress("http://h/a")
                        _ = try store.keep(store.draft("parent"), asOriginalOf: parent, .sample(parent))
                        try store.remove(parent)
                    }
                }
            }
            group.addTask {
                for _ in 0..<300 {
                    let found = try #require(try mirror.store.original(of: address))
                    #expect(found.picture.text == found.record.entityTag)
                    if let drawn = try mirror.store.styled(address, .small)?.text {
                        #expect(drawn.hasPrefix("drawn from "))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(mirror.pictures.allSatisfy { $0.hasSuffix("h/a/b") || $0.hasSuffix("h/a/b.png") })
    }

    @Test func `errors say what to do`() throws {
        let place = try TemporaryDirectory()
        try Data().write(to: URL(fileURLWithPath: place.path("file")))
        let error = try #require(throws: AvatarStoreError.self) { try DiskAvatarStore(directory: place.path("file")) }
        #expect(
            error.description
                == "the mirror of pictures can't be opened in \(place.path("file")): Not a directory; remove the file that is in the way, or set avatars to another directory"
        )
        #expect(
            AvatarStoreError("the picture of http://h/a can't be stored", in: "/a", .noSpace).description
                == "the picture of http://h/a can't be stored in /a: No space left on device; free disk space, or lower avatar_cache.max_size"
        )
    }
}
