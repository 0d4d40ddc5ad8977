import Foundation
import Glibc
import LinuxSystem
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import FileWatch

/// What scans find, and how they make up for missing events.
@Suite struct ScanTests {
    @Test func `files that are there at the start are ready at once`() async throws {
        let outbox = try Outbox(.quick(settle: .zero))
        try outbox.makeDirectory("a/b")
        try outbox.write("a/b/f")
        try await outbox.start()
        #expect(outbox.story == ["ready a/b/f", "scanned 1"])
    }

    @Test func `a known file is left out but counted`() async throws {
        let outbox = try Outbox(.quick(isKnown: { path, _ in path.description == "known" }))
        try outbox.write("known")
        try outbox.write("unknown")
        try await outbox.start()
        try await outbox.sees("ready unknown")
        #expect(!outbox.story.contains { $0.hasSuffix(" known") })
        #expect(outbox.scans.first?.contains(try relative("known")) == true)
        #expect(outbox.scans.first?.contains(try relative("other")) == false)
    }

    @Test func `a private directory is passed over, also one that is moved in while the watch runs`() async throws {
        let directory = try TemporaryDirectory()
        let inner = directory.path("outbox/own")
        let moved = directory.path("moved")
        for path in [inner, moved] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/secret"))
        }
        let own = Set(try [inner, moved].map { try FileStatus(path: $0).inode })
        var options = FileWatch.Options.quick()
        options.isPrivate = { own.contains($0.inode) }
        let outbox = try Outbox(options, in: directory)
        try await outbox.start()
        #expect(rename(moved, outbox.path("moved")) == 0)
        try outbox.write("own/new")
        try outbox.write("marker")
        try await outbox.sees("ready marker")
        _ = try await outbox.rescan()
        #expect(!outbox.story.contains { $0.contains("own/") || $0.contains("moved/") })
    }

    @Test func `an outbox that is another directory than its user opened is said to be back as another one`()
        async throws
    {
        let directory = try TemporaryDirectory()
        var options = FileWatch.Options.quick()
        options.expectedRoot = try FileStatus(path: directory.path)
        let outbox = try Outbox(options, in: directory)
        try await outbox.start()
        #expect(outbox.story == ["back false", "scanned 0"])
    }

    @Test func `a file that is being written when the scan comes by is not ready before it is closed`() async throws {
        let outbox = try Outbox()
        let file = try Writer(outbox.path("slow"))
        try file.append("x")
        try await outbox.start()
        try outbox.write("marker")
        try await outbox.sees("ready marker")
        #expect(outbox.story.contains("seen slow") && !outbox.story.contains("ready slow"))
        file.close()
        try await outbox.sees("ready slow")
    }

    @Test func `a change without an event is found by the next scan`() async throws {
        let outbox = try Outbox(.quick(isKnown: { _, status in status.size == 7 }))
        try outbox.write("a", "content")
        try await outbox.start()
        #expect(truncate(outbox.path("a"), 3) == 0)
        _ = try await outbox.rescan()
        try await outbox.sees("ready a")
    }

    @Test(.enabled(if: getuid() != 0, "root may list everything"))
    func `a directory that cannot be listed is told of, and nothing below it counts as absent`() async throws {
        let outbox = try Outbox()
        try outbox.makeDirectory("d")
        #expect(chmod(outbox.path("d"), 0) == 0)
        try await outbox.start()
        #expect(outbox.scans.first?.contains(try relative("d/f")) == true)
        #expect(outbox.events.contains(.unlistable(try relative("d"), .permissionDenied)))
    }

    @Test func `every file is found and watched at paths of any length`() async throws {
        let outbox = try Outbox()
        let name = String(repeating: "n", count: 250)
        let root = try Directory(path: outbox.root)
        var path = name
        for level in 1..<20 {
            try root.createDirectories(Array(path.utf8))
            _ = try root.open(Array("\(path)/f".utf8), flags: O_WRONLY | O_CREAT, mode: 0o600)
            if level < 19 { path += "/" + name }
        }
        try await outbox.start()
        try await Poll.until("all are ready", timeout: .seconds(120)) {
            outbox.story.count { $0.hasPrefix("ready") } == 19
        }
        _ = try root.open(Array("\(path)/later".utf8), flags: O_WRONLY | O_CREAT, mode: 0o600)
        try await outbox.sees("ready \(path)/later")
        #expect(outbox.scans.first?.unreadable.isEmpty == true)
        try root.unlink(Array("\(path)/later".utf8))
        while !path.isEmpty {
            try root.unlink(Array("\(path)/f".utf8))
            try root.removeDirectory(Array(path.utf8))
            path = String(path.dropLast(251))
        }
    }

    @Test(.enabled(if: getuid() != 0, "root may read everything"))
    func `a file that may not be read is told of, and taken once it may`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        try outbox.write("a")
        #expect(chmod(outbox.path("a"), 0) == 0)
        try await outbox.sees("unreadable a")
        #expect(chmod(outbox.path("a"), 0o600) == 0)
        try await outbox.sees("ready a")
    }

    @Test func `symbolic links, FIFOs and sockets are odd and never opened`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        #expect(symlink("/etc/passwd", outbox.path("link")) == 0)
        #expect(mkfifo(outbox.path("fifo"), 0o600) == 0)
        #expect(mknod(outbox.path("socket"), S_IFSOCK | 0o600, 0) == 0)
        for name in ["link", "fifo", "socket"] { try await outbox.sees("odd \(name)") }
        #expect(!outbox.story.contains { $0.hasPrefix("ready") })
    }

    @Test func `a symbolic link to a directory is not followed`() async throws {
        let outbox = try Outbox()
        let outside = outbox.directory.path("outside")
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: false)
        try Data("x".utf8).write(to: URL(filePath: outside + "/f"))
        #expect(symlink(outside, outbox.path("link")) == 0)
        try await outbox.start()
        #expect(outbox.story == ["odd link", "scanned 1"])
    }

    @Test func `the outbox itself may be a symbolic link`() async throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.path("real"), withIntermediateDirectories: false)
        #expect(symlink("real", directory.path("outbox")) == 0)
        let outbox = try Outbox(in: directory)
        try await outbox.start()
        try outbox.write("a")
        try await outbox.sees("ready a")
    }

    @Test func `files that come during a scan are in its summary`() async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path("outbox")
        // The scan has read all names by the time it asks about one of them.
        let options = FileWatch.Options.quick(isIgnored: { path, _ in
            if "\(path)" == "old1000", !FileManager.default.fileExists(atPath: "\(root)/new0") {
                for index in 0..<500 { try? Data().write(to: URL(filePath: "\(root)/new\(index)")) }
            }
            return false
        })
        let outbox = try Outbox(options, in: directory)
        for index in 0..<2000 { try outbox.write("old\(index)", "x") }
        try await outbox.start()
        #expect(outbox.scans.map(\.files) == [2500])
    }

    @Test func `no file moved about during scans is missing from a summary`() async throws {
        let outbox = try Outbox()
        let count = 50
        for index in 0..<count {
            try outbox.makeDirectory("a\(index)")
            try outbox.makeDirectory("b\(index)")
            try outbox.write("a\(index)/f", "x")
        }
        try await outbox.start()
        for round in 0..<20 {
            let (from, to) = round % 2 == 0 ? ("a", "b") : ("b", "a")
            let before = outbox.scans.count
            outbox.watch.rescan()
            for index in 0..<count {
                #expect(rename(outbox.path("\(from)\(index)/f"), outbox.path("\(to)\(index)/f")) == 0)
            }
            try await Poll.until("a scan", timeout: .seconds(120)) { outbox.scans.count > before }
            let summary = outbox.scans[before]
            for index in 0..<count {
                let isThere = try summary.contains(relative("a\(index)/f")) || summary.contains(relative("b\(index)/f"))
                #expect(isThere)
            }
        }
    }
}
