import AgentTestSupport
import Foundation
import Intake
import LinuxSystem
import Reports
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import Sidecars

@Suite("Sidecar store")
struct SidecarStoreTests {
    private let place: TemporaryDirectory
    private let store: SidecarStore
    private let path: RelativePath

    init() throws {
        place = try TemporaryDirectory()
        store = SidecarStore(beside: PinnedDirectory(path: place.path))
        path = try #require(RelativePath("a.jpg"))
    }

    @Test("writes a file with the text, and leaves no other file")
    func writes() throws {
        let name = try store.write(text(.settling), for: .file(path), known: nil)
        #expect(name == Array("a.jpg.outbox.json".utf8))
        #expect(try names() == ["a.jpg.outbox.json"])
        #expect(try read("a.jpg.outbox.json").contains("\"settling\""))
    }

    @Test("writes a sidecar that was expected to exist, but does not")
    func expected() throws {
        let name = try store.write(text(.settling), for: .file(path), known: nil, replaces: true)
        #expect(name == Array("a.jpg.outbox.json".utf8))
        #expect(try names() == ["a.jpg.outbox.json"])
    }

    @Test("replaces its own sidecar with a new file, so that a reader never sees half a text")
    func replaces() throws {
        _ = try store.write(text(.settling), for: .file(path), known: nil)
        let before = try FileStatus(path: place.path("a.jpg.outbox.json"))
        let reader = try #require(FileHandle(forReadingAtPath: place.path("a.jpg.outbox.json")))
        _ = try store.write(text(.done), for: .file(path), known: nil)
        #expect(try FileStatus(path: place.path("a.jpg.outbox.json")).inode != before.inode)
        #expect(String(decoding: reader.readDataToEndOfFile(), as: UTF8.self).hasSuffix("}\n"))
        #expect(try read("a.jpg.outbox.json").contains("\"done\""))
        #expect(try names() == ["a.jpg.outbox.json"])
    }

    @Test("leaves foreign files of the name alone")
    func foreign() throws {
        try write("a.jpg.outbox.json", "mine")
        try write("a.jpg (2).outbox.json", "mine too")
        #expect(try store.write(text(.done), for: .file(path), known: nil) == Array("a.jpg (3).outbox.json".utf8))
        #expect(try read("a.jpg.outbox.json") == "mine")
        #expect(try read("a.jpg (2).outbox.json") == "mine too")
        // The second write uses the same name, with or without the known name.
        #expect(try store.write(text(.done), for: .file(path), known: nil) == Array("a.jpg (3).outbox.json".utf8))
        #expect(try store.write(text(.done), for: .file(path), known: Array("a.jpg (3).outbox.json".utf8)).count == 21)
        #expect(try names().count == 3)
    }

    @Test("does not write through a symbolic link or into a directory of the name")
    func oddNames() throws {
        try write("target", "untouched")
        try FileManager.default.createSymbolicLink(
            atPath: place.path("a.jpg.outbox.json"), withDestinationPath: "target")
        try FileManager.default.createDirectory(
            atPath: place.path("a.jpg (2).outbox.json"), withIntermediateDirectories: false)
        #expect(try store.write(text(.done), for: .file(path), known: nil) == Array("a.jpg (3).outbox.json".utf8))
        #expect(try read("target") == "untouched")
    }

    @Test("takes over a sidecar that moved with its renamed directory")
    func renamedDirectory() throws {
        try FileManager.default.createDirectory(atPath: place.path("old"), withIntermediateDirectories: false)
        let old = try #require(RelativePath("old/a.jpg"))
        _ = try store.write(FileReport.seen(old, .uploading).sidecarText(), for: .file(old), known: nil)
        try FileManager.default.moveItem(atPath: place.path("old"), toPath: place.path("new"))
        let new = try #require(RelativePath("new/a.jpg"))
        _ = try store.write(FileReport.seen(new, .done).sidecarText(), for: .file(new), known: nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path("new")) == ["a.jpg.outbox.json"])
        #expect(try read("new/a.jpg.outbox.json").contains("\"new/a.jpg\""))
    }

    @Test("replaces a temporary file that a kill left half written")
    func leftover() throws {
        let temporary = String(decoding: SidecarName.temporary(for: Array("a.jpg".utf8)), as: UTF8.self)
        try write(temporary, "{\n  \"ver")
        _ = try store.write(text(.done), for: .file(path), known: nil)
        #expect(try names() == ["a.jpg.outbox.json"])
    }

    @Test("writes despite a directory with the name of its temporary file")
    func plantedDirectory() throws {
        let temporary = String(decoding: SidecarName.temporary(for: Array("a.jpg".utf8)), as: UTF8.self)
        try FileManager.default.createDirectory(atPath: place.path(temporary), withIntermediateDirectories: false)
        _ = try store.write(text(.settling), for: .file(path), known: nil)
        _ = try store.write(text(.done), for: .file(path), known: nil)
        #expect(try names() == [temporary, "a.jpg.outbox.json"])
        #expect(try read("a.jpg.outbox.json").contains("\"done\""))
    }

    @Test(
        "replaces a sidecar that a power cut left empty or with a first page of zero bytes",
        arguments: [(0, ""), (512, ""), (4096, "], \"error\": null}")])
    func blank(size: Int, rest: String) throws {
        try write("a.jpg.outbox.json", String(repeating: "\0", count: size) + rest)
        #expect(try store.write(text(.done), for: .file(path), known: nil) == Array("a.jpg.outbox.json".utf8))
        #expect(try names() == ["a.jpg.outbox.json"])
        #expect(store.sidecar(of: .file(path), holds: ["\"done\""]))
    }

    @Test("removes the second sidecar written beside an empty one")
    func secondBesideBlank() throws {
        try write("a.jpg.outbox.json", "mine")
        _ = try store.write(text(.waiting), for: .file(path), known: nil)
        try write("a.jpg.outbox.json", "")
        #expect(try names().count == 2)
        _ = try store.write(text(.done), for: .file(path), known: nil)
        #expect(try names() == ["a.jpg.outbox.json"])
    }

    @Test("removes an empty sidecar with its file")
    func removesBlank() throws {
        try write("a.jpg.outbox.json", "")
        #expect(store.remove(for: .file(path), known: nil))
        #expect(try names().isEmpty)
    }

    @Test("writes nothing in another directory that takes the outbox's place")
    func otherOutbox() throws {
        let box = place.path("box")
        try FileManager.default.createDirectory(atPath: box, withIntermediateDirectories: false)
        let store = SidecarStore(beside: PinnedDirectory(path: box))
        _ = try store.write(text(.settling), for: .file(path), known: nil)
        #expect(rename(box, place.path("away")) == 0)
        try FileManager.default.createDirectory(atPath: box, withIntermediateDirectories: false)
        #expect(throws: Errno.staleNFSFileHandle) { try store.write(text(.done), for: .file(path), known: nil) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: box).isEmpty)
    }

    @Test("never creates a directory in the outbox")
    func directoryGone() throws {
        let gone = try #require(RelativePath("gone/a.jpg"))
        #expect(throws: Errno.noSuchFileOrDirectory) { try store.write(text(.done), for: .file(gone), known: nil) }
        #expect(try names().isEmpty)
        store.remove(for: .file(gone), known: nil)
    }

    @Test("creates the directories of a mirror tree")
    func mirror() throws {
        let mirror = SidecarStore(mirror: place.path)
        let deep = try #require(RelativePath("x/y/a.jpg"))
        _ = try mirror.write(text(.done), for: .file(deep), known: nil)
        #expect(try read("x/y/a.jpg.outbox.json").contains("\"done\""))
    }

    @Test("throws an error without permission to write", .enabled(if: geteuid() != 0))
    func readOnly() throws {
        chmod(place.path, 0o500)
        defer { chmod(place.path, 0o700) }
        #expect(throws: Errno.permissionDenied) { try store.write(text(.done), for: .file(path), known: nil) }
    }

    @Test("writes beside names of 255 bytes and names that are not UTF-8")
    func names255() throws {
        for bytes in [[UInt8](repeating: UInt8(ascii: "n"), count: 255), [0xFF, 0xFE], Array("a\nb".utf8)] {
            let odd = try #require(RelativePath(bytes))
            _ = try store.write(FileReport.seen(odd).sidecarText(), for: .file(odd), known: nil)
            _ = try store.write(FileReport.seen(odd, .done).sidecarText(), for: .file(odd), known: nil)
        }
        #expect(try names().count == 3)
    }

    @Test("removes its own sidecar, also under a copy's name, and no foreign file")
    func removes() throws {
        try write("a.jpg.outbox.json", "mine")
        _ = try store.write(text(.done), for: .file(path), known: nil)
        store.remove(for: .file(path), known: nil)
        #expect(try names() == ["a.jpg.outbox.json"])
        store.remove(for: .file(path), known: nil)
        #expect(try read("a.jpg.outbox.json") == "mine")
    }

    @Test("checks whether the existing sidecar holds a text")
    func holds() throws {
        #expect(!store.sidecar(of: .file(path), holds: ["\"done\""]))
        _ = try store.write(text(.done), for: .file(path), known: nil)
        #expect(store.sidecar(of: .file(path), holds: ["\"done\""]))
        #expect(!store.sidecar(of: .file(path), holds: ["\"failed\""]))
    }

    private func text(_ state: FileState) -> [UInt8] { FileReport.seen(path, state).sidecarText() }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: place.path).sorted() }

    private func read(_ name: String) throws -> String { try String(contentsOfFile: place.path(name), encoding: .utf8) }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: place.path(name)))
    }
}
