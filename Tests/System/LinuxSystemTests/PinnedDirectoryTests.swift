import Foundation
import LinuxSystem
import SystemPackage
import TestSupport
import Testing

@Suite("Pinned directory")
struct PinnedDirectoryTests {
    private let place: TemporaryDirectory
    private let pinned: PinnedDirectory

    init() throws {
        place = try TemporaryDirectory()
        pinned = PinnedDirectory(path: place.path("box"))
        try make("box")
    }

    @Test("opens as long as its path leads to the same directory")
    func same() throws {
        let inode = try pinned.open().status().inode
        #expect(try pinned.open().status().inode == inode)
        try move("box", to: "away")
        try move("away", to: "box")
        #expect(try pinned.open().status().inode == inode)
    }

    @Test("refuses another directory at its path until accepted")
    func replaced() throws {
        _ = try pinned.open()
        try move("box", to: "away")
        #expect(throws: Errno.staleNFSFileHandle) { _ = try pinned.open() }
        try make("box")
        #expect(throws: Errno.staleNFSFileHandle) { _ = try pinned.open() }
        try pinned.repin()
        #expect(try pinned.open().status().inode == FileStatus(path: place.path("box")).inode)
    }

    @Test("need not exist at first")
    func late() throws {
        let late = PinnedDirectory(path: place.path("late"))
        #expect(throws: Errno.noSuchFileOrDirectory) { _ = try late.open() }
        try make("late")
        #expect(try late.open().status().kind == .directory)
    }

    private func make(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: place.path(name), withIntermediateDirectories: false)
    }

    private func move(_ old: String, to new: String) throws {
        try #require(rename(place.path(old), place.path(new)) == 0)
    }
}
