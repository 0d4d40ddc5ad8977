import Foundation
import Reports
import TestSupport
import Testing
import UploadCore

@testable import AgentConfiguration
@testable import Console

@Suite("Names on the command line")
struct FileNamesTests {
    private let directory: TemporaryDirectory
    private let manager = FileManager.default

    /// `outbox/trip/a.jpg`, `outbox/b.jpg`, an empty `elsewhere`, and `link` to the outbox.
    init() throws {
        directory = try TemporaryDirectory(prefix: "outbox-names")
        for name in ["outbox/trip", "elsewhere"] {
            try manager.createDirectory(atPath: directory.path(name), withIntermediateDirectories: true)
        }
        for name in ["outbox/trip/a.jpg", "outbox/b.jpg"] {
            #expect(manager.createFile(atPath: directory.path(name), contents: Data("x".utf8)))
        }
        try manager.createSymbolicLink(atPath: directory.path("link"), withDestinationPath: directory.path("outbox"))
    }

    private func find(
        _ word: String, from current: String = "elsewhere", outbox: String = "outbox", knowing files: [FileEntry] = []
    ) -> FileNames.Found {
        let place = OutboxPlace(outbox: directory.path(outbox), currentDirectory: directory.path(current))
        return FileNames(place: place, files: files).find(Array(word.utf8))
    }

    private func path(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }

    @Test("a relative name is looked up in the current directory, then in the outbox")
    func relative() throws {
        #expect(find("a.jpg", from: "outbox/trip") == .unseen(try path("trip/a.jpg")))
        #expect(find("../b.jpg", from: "outbox/trip") == .unseen(try path("b.jpg")))
        #expect(find("trip/a.jpg") == .unseen(try path("trip/a.jpg")))
        #expect(find("b.jpg", from: "outbox/trip") == .unseen(try path("b.jpg")))
    }

    @Test("an absolute name leads to the outbox through its real path or a link", arguments: ["outbox", "link"])
    func absolute(outbox: String) throws {
        for way in ["outbox", "link", "elsewhere/../outbox", "outbox/trip/..", "outbox/."] {
            #expect(find(directory.path(way + "/b.jpg"), outbox: outbox) == .unseen(try path("b.jpg")), "\(way)")
        }
    }

    @Test("a moved file is found by its original name, unless another file has this name")
    func moved() throws {
        let files = [
            try entry("Sent/c.jpg", "done", movedFrom: "c.jpg"), try entry("Sent/b.jpg", "done", movedFrom: "b.jpg"),
            try entry("Sent/50%.jpg", "done", movedFrom: "50%.jpg"),
        ]
        #expect(find("c.jpg", knowing: files) == .known([try path("Sent/c.jpg")]))
        #expect(find("50%.jpg", knowing: files) == .known([try path("Sent/50%.jpg")]))
        #expect(find("b.jpg", knowing: files) == .unseen(try path("b.jpg")))
    }

    @Test("the outbox and its directories stand for all files below them")
    func directories() throws {
        #expect(find(directory.path("link")) == .below(.root))
        #expect(find(".", from: "outbox") == .below(.root))
        #expect(find("..", from: "outbox/trip") == .below(.root))
        #expect(find("trip/") == .below(try path("trip")))
        #expect(find(".", from: "outbox/trip") == .below(try path("trip")))
    }

    @Test("a missing file, or one outside of the outbox, is not found")
    func nothing() {
        for name in ["no.jpg", "", "/etc/passwd", "/", "..", "a\0b", "../outbox-2/b.jpg"] {
            #expect(find(name) == .nothing, "\(name)")
        }
    }

    @Test("a file outside of the outbox has an error of its own, with advice")
    func outside() throws {
        #expect(manager.createFile(atPath: directory.path("elsewhere/my cat.jpg"), contents: nil))
        let outbox = directory.path("outbox")
        let place = OutboxPlace(outbox: outbox, currentDirectory: directory.path("elsewhere"))
        func reason(_ name: String) -> String { place.reasonForUnknown(name, bytes: Array(name.utf8)) }
        #expect(
            reason("my cat.jpg") == "not in the outbox; copy it into \(outbox) first: cp 'my cat.jpg' \(outbox)/")
        let folder = directory.path("elsewhere")
        #expect(reason(folder) == "not in the outbox; copy it into \(outbox) first: cp -r \(folder) \(outbox)/")
        for name in ["no.jpg", "", "a\0b", "/no/such/file"] {
            #expect(reason(name).hasPrefix("no such file in \(outbox)"), "\(name)")
        }
    }

    @Test("a directory stands for the files moved out of it")
    func movedDirectory() throws {
        let files = [
            try entry("Sent/trip/x.jpg", "done", movedFrom: "trip/x.jpg"),
            try entry("Sent/old/y.jpg", "done", movedFrom: "old/y.jpg"),
        ]
        #expect(find("trip", knowing: files) == .below(try path("trip")))
        #expect(find("old", knowing: files) == .below(try path("old")), "also once the directory is gone")
    }

    @Test("a link in the outbox is a file of its own")
    func link() throws {
        try manager.createSymbolicLink(atPath: directory.path("outbox/to-b.jpg"), withDestinationPath: "b.jpg")
        #expect(find("to-b.jpg") == .unseen(try path("to-b.jpg")))
    }

    @Test("a removed file is found while the agent knows its name, even without its directory")
    func gone() throws {
        let files = [try entry("gone/x.jpg", "cancelled")]
        #expect(find("gone/x.jpg", knowing: files) == .known([try path("gone/x.jpg")]))
        #expect(find(directory.path("link/gone/x.jpg"), knowing: files) == .known([try path("gone/x.jpg")]))
        #expect(find("gone", knowing: files) == .below(try path("gone")))
    }

    @Test("a key names every file with that content, in either case of letters")
    func key() throws {
        let key = "9e107d9d372bb6826bd81d3542a419d6"
        let files = [try entry("a", "done", key: key), try entry("b", "done"), try entry("c", "done", key: key)]
        #expect(find(key, knowing: files) == .known([try path("a"), try path("c")]))
        #expect(find(key.uppercased(), knowing: files) == .known([try path("a"), try path("c")]))
        #expect(find(key) == .nothing)
    }

    @Test("a name that is not UTF-8 is found by its bytes and by its displayed form")
    func odd() throws {
        let bytes = Array("odd".utf8) + [0xFF]
        let files = [try entry("odd%FF", "done", pathBytes: bytes)]
        let expected = FileNames.Found.known([try #require(RelativePath(bytes))])
        let place = OutboxPlace(outbox: directory.path("outbox"), currentDirectory: "/")
        #expect(FileNames(place: place, files: files).find(bytes) == expected)
        #expect(find("odd%FF", knowing: files) == expected)
    }

    @Test("ignored names, sidecars and the directory of moved files are never uploaded")
    func neverTaken() throws {
        let configuration = Configuration(home: "/home/ann")
        for name in [".hidden", ".git/a.jpg", "a.jpg.part", "a.jpg.outbox.json", "Sent/a.jpg"] {
            #expect(configuration.neverTakes(try path(name)), "\(name)")
        }
        for name in ["a.jpg", "trip/b.jpg", "Sentinel/a.jpg"] {
            #expect(!configuration.neverTakes(try path(name)), "\(name)")
        }
    }
}
