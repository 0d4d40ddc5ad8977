import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import LinuxSystem

@Suite("Directory")
struct DirectoryTests {
    private let place: TemporaryDirectory
    private let directory: Directory

    init() throws {
        place = try TemporaryDirectory()
        directory = try Directory(path: place.path)
    }

    @Test("never leaves the directory", arguments: ["../x", "..", "/etc/passwd", "sub/../../x"])
    func beneath(path: String) throws {
        try FileManager.default.createDirectory(atPath: place.path("sub"), withIntermediateDirectories: true)
        #expect(throws: Errno.self) { _ = try directory.open(Array(path.utf8), flags: O_RDONLY) }
        #expect(throws: Errno.self) { try directory.status(Array(path.utf8)) }
    }

    @Test("follows no symbolic link on the way, even within the directory")
    func linkOnTheWay() throws {
        try FileManager.default.createDirectory(atPath: place.path("real"), withIntermediateDirectories: true)
        try Data("x".utf8).write(to: URL(fileURLWithPath: place.path("real/file")))
        try FileManager.default.createSymbolicLink(atPath: place.path("link"), withDestinationPath: "real")
        #expect(throws: Errno.tooManySymbolicLinkLevels) { try directory.status(Array("link/file".utf8)) }
        #expect(throws: Errno.tooManySymbolicLinkLevels) {
            _ = try directory.open(Array("link/file".utf8), flags: O_RDONLY)
        }
    }

    @Test("describes a symbolic link instead of following it")
    func linkAtTheEnd() throws {
        try FileManager.default.createSymbolicLink(atPath: place.path("link"), withDestinationPath: "/etc/passwd")
        #expect(try directory.status(Array("link".utf8)).kind == .symbolicLink)
        #expect(throws: Errno.tooManySymbolicLinkLevels) { _ = try directory.open(Array("link".utf8), flags: O_RDONLY) }
    }

    @Test("may itself be opened through a symbolic link")
    func linkToRoot() throws {
        let alias = place.path("alias")
        try FileManager.default.createSymbolicLink(atPath: alias, withDestinationPath: place.path)
        #expect(try Directory(path: alias).status().inode == directory.status().inode)
    }

    @Test("opens a FIFO without waiting for a writer")
    func fifo() throws {
        #expect(mkfifo(place.path("pipe"), 0o600) == 0)
        _ = try directory.open(Array("pipe".utf8), flags: O_RDONLY)
        #expect(try directory.status(Array("pipe".utf8)).kind == .fifo)
    }

    @Test("opens everything close-on-exec")
    func closeOnExec() throws {
        let file = try directory.open(Array("new".utf8), flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        #expect(fcntl(file.rawValue, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(directory.rawValue, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test("lists every legal name and neither . nor ..")
    func entries() throws {
        let names: [[UInt8]] = [
            Array("plain".utf8), [0xFF, 0xFE], Array("new\nline".utf8), Array("...".utf8), Array(" ".utf8),
            [UInt8](repeating: UInt8(ascii: "n"), count: 255),
        ]
        for name in names { _ = try directory.open(name, flags: O_WRONLY | O_CREAT, mode: 0o600) }
        try directory.createDirectories(Array("sub".utf8))
        let found = try directory.entries()
        #expect(Set(found.map(\.name)) == Set(names + [Array("sub".utf8)]))
        #expect(found.filter { $0.isDirectory == true }.map(\.name) == [Array("sub".utf8)])
    }

    @Test("lists names of any length, as some file systems have them")
    func longNames() {
        let names = [1, 255, 256, 765, 4095].map { [UInt8](repeating: UInt8(ascii: "n"), count: $0) }
        let records = names.flatMap { Self.record($0, DT_REG) } + Self.record([UInt8(ascii: "d")], DT_DIR)
        #expect(Self.list(records).map(\.name) == names + [[UInt8(ascii: "d")]])
        #expect(Self.list(records).last?.isDirectory == true)
    }

    @Test("stops at a record that does not fit", arguments: [0, 18, 19, 200])
    func brokenRecord(length: UInt16) {
        let first = Self.record(Array("a".utf8), DT_UNKNOWN)
        var second = Self.record(Array("b".utf8), DT_REG)
        withUnsafeBytes(of: length) { second.replaceSubrange(16..<18, with: $0) }
        #expect(Self.list(first + second) == [Directory.Entry(name: Array("a".utf8), isDirectory: nil)])
    }

    /// Returns a record of getdents64(2).
    private static func record(_ name: [UInt8], _ kind: Int) -> [UInt8] {
        let length = (19 + name.count + 1 + 7) / 8 * 8
        let header = [UInt8](repeating: 7, count: 16) + withUnsafeBytes(of: UInt16(length)) { Array($0) }
        return header + [UInt8(kind)] + name + [UInt8](repeating: 0, count: length - 19 - name.count)
    }

    private static func list(_ records: [UInt8]) -> [Directory.Entry] {
        var entries: [Directory.Entry] = []
        records.withUnsafeBytes { bytes in
            DirectoryRecords.forEach(in: bytes) { name, isDirectory in
                entries.append(Directory.Entry(name: Array(name), isDirectory: isDirectory))
            }
        }
        return entries
    }

    @Test("tells a listed name from one that leads to a file unlisted")
    func listed() throws {
        try directory.createDirectories(Array("a/b".utf8))
        #expect(try directory.lists(Array("a/b".utf8)) && directory.lists([]))
        #expect(try !directory.lists(Array("a/B".utf8)) && !directory.lists(Array("A/b".utf8)))
        // Like another spelling on a file system that ignores case, a thread's number leads to its directory, but only
        // those of processes are listed.
        let processes = try Directory(path: "/proc")
        let threads = try Directory(path: "/proc/self/task").entries().map(\.name)
        let thread = try #require(threads.first { String(decoding: $0, as: UTF8.self) != "\(getpid())" })
        #expect(try processes.status(thread).kind == .directory)
        #expect(try !processes.lists(thread))
    }

    @Test("works at paths longer than the kernel takes at once")
    func longPath() throws {
        let path = Array(repeating: String(repeating: "d", count: 250), count: 40).joined(separator: "/")
        let deep = try directory.createDirectories(Array(path.utf8))
        let (old, new) = (Array("\(path)/old".utf8), Array("\(path)/new".utf8))
        _ = try directory.open(old, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        try directory.rename(old, to: new)
        #expect(try directory.status(new).kind == .regular)
        #expect(try directory.directory(Array(path.utf8)).entries().map(\.name) == [Array("new".utf8)])
        #expect(throws: Errno.noSuchFileOrDirectory) { try directory.status(old) }
        try directory.unlink(new)
        #expect(try deep.entries().isEmpty)
        var rest = Array(path.utf8)
        while !rest.isEmpty {
            try directory.removeDirectory(rest)
            rest = Array(rest.dropLast(251))
        }
    }

    @Test("creates directories below itself, never through a symbolic link")
    func createsBeneath() throws {
        let outside = try TemporaryDirectory()
        try FileManager.default.createSymbolicLink(atPath: place.path("link"), withDestinationPath: outside.path)
        #expect(throws: Errno.self) { try directory.createDirectories(Array("link/sub".utf8)) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
        let made = try directory.createDirectories(Array("a/b".utf8))
        #expect(try made.status().inode == FileStatus(path: place.path("a/b")).inode)
        #expect(try directory.createDirectories(Array("a/b".utf8)).status().inode == made.status().inode)
    }

    @Test("opens no untrusted directory, and creates nothing in it")
    func untrusted() throws {
        try directory.createDirectories(Array("a".utf8))
        let foreign = try directory.status(Array("a".utf8)).inode
        #expect(throws: Errno.notPermitted) {
            try directory.createDirectories(Array("a/b".utf8), isTrusted: { $0.inode != foreign })
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path("a")).isEmpty)
    }

    @Test("refuses a NUL in a name instead of cutting it")
    func nul() throws {
        #expect(throws: Errno.invalidArgument) { try directory.status([UInt8(ascii: "a"), 0, UInt8(ascii: "b")]) }
    }

    @Test("creates the missing part of a path and leaves the rest")
    func createDirectories() throws {
        try directory.createDirectories(Array("a/b".utf8))
        try directory.createDirectories(Array("a/b/c".utf8))
        #expect(try directory.status(Array("a/b/c".utf8)).kind == .directory)
    }

    @Test("throws if a file has the name of a directory")
    func fileInTheWay() throws {
        try write("a", "x")
        #expect(throws: Errno.notDirectory) { try directory.createDirectories(Array("a/b".utf8)) }
    }

    @Test("renames without replacing")
    func moveWithoutReplacing() throws {
        try write("new", "new")
        try write("taken", "old")
        #expect(throws: Errno.fileExists) {
            try directory.moveWithoutReplacing(Array("new".utf8), to: Array("taken".utf8), in: directory)
        }
        #expect(try read("taken") == "old")
        try directory.moveWithoutReplacing(Array("new".utf8), to: Array("free".utf8), in: directory)
        #expect(try read("free") == "new")
    }

    @Test("replaces with a plain rename")
    func rename() throws {
        try write("new", "new")
        try write("taken", "old")
        try directory.rename(Array("new".utf8), to: Array("taken".utf8))
        #expect(try read("taken") == "new")
    }

    @Test("throws for a missing name")
    func missing() throws {
        #expect(throws: Errno.noSuchFileOrDirectory) { try directory.unlink(Array("none".utf8)) }
        #expect(throws: Errno.noSuchFileOrDirectory) { try directory.directory(Array("none".utf8)) }
    }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: place.path(name)))
    }

    private func read(_ name: String) throws -> String {
        try String(contentsOfFile: place.path(name), encoding: .utf8)
    }
}
