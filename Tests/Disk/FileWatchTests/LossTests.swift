import Foundation
import Glibc
import LinuxSystem
import SystemPackage
import TestSupport
import Testing

@testable import FileWatch

/// The kernel loses events, or the outbox itself disappears.
@Suite struct LossTests {
    @Test func `a removed outbox is lost, and taken up again when it is back`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        #expect(rmdir(outbox.root) == 0)
        try await outbox.sees("lost")
        #expect(mkdir(outbox.root, 0o700) == 0)
        try outbox.write("a")
        try await outbox.sees("its return") { $0.hasPrefix("back") }
        try await outbox.sees("ready a")
        try outbox.write("b")
        try await outbox.sees("ready b")
    }

    @Test func `an outbox that is moved away and back is the same, and none of its files is gone`() async throws {
        let outbox = try Outbox()
        try outbox.write("a")
        try await outbox.start()
        try await outbox.sees("ready a")
        #expect(rename(outbox.root, outbox.directory.path("elsewhere")) == 0)
        try await outbox.sees("lost")
        #expect(rename(outbox.directory.path("elsewhere"), outbox.root) == 0)
        try await outbox.sees("back true")
        #expect(!outbox.story.contains("gone a"))
        try outbox.write("b")
        try await outbox.sees("ready b")
    }

    @Test func `an outbox whose place another directory takes is lost`() async throws {
        let outbox = try Outbox()
        try outbox.write("a")
        try await outbox.start()
        try await outbox.sees("ready a")
        let other = outbox.directory.path("other")
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        #expect(exchange(outbox.root, other) == 0)
        try await outbox.sees("lost")
        try await outbox.sees("back false")
        #expect(!outbox.story.contains("gone a"))
    }

    @Test(.enabled(if: getuid() == 0, "only root may mount"))
    func `an unmounted outbox is lost, its mount point is not taken for it, and remounting brings it back`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let root = directory.path("outbox")
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        try #require(run("mount", "-t", "tmpfs", "none", root))
        defer { _ = run("umount", root) }
        let outbox = try Outbox(in: directory)
        try outbox.write("a")
        try await outbox.start()
        try await outbox.sees("ready a")
        // The watch may be listing the outbox.
        try await Poll.until("the outbox to be unmounted") { run("umount", root) }
        try await outbox.sees("lost")
        try outbox.write("below the mount point")
        try #require(run("mount", "-t", "tmpfs", "none", root))
        try outbox.write("b")
        try await outbox.sees("ready b")
        #expect(outbox.story.contains("back false"))
        #expect(!outbox.story.contains { $0.hasPrefix("gone") || $0.contains("below") })
    }

    @Test(.enabled(if: getuid() == 0, "only root may mount"))
    func `a file system mounted over the outbox makes it another one, without any event`() async throws {
        let outbox = try Outbox()
        try outbox.write("a")
        try await outbox.start()
        try await outbox.sees("ready a")
        try #require(run("mount", "-t", "tmpfs", "none", outbox.root))
        defer { _ = run("umount", "-l", outbox.root) }
        try await outbox.sees("lost")
        try await outbox.sees("back false")
        try outbox.write("b")
        try await outbox.sees("ready b")
        #expect(!outbox.story.contains { $0.hasPrefix("gone") })
    }

    @Test(.enabled(if: getuid() == 0, "only root may mount"))
    func `an outbox that is unmounted lazily, while somebody has it open, is lost at once`() async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path("outbox")
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        try #require(run("mount", "-t", "tmpfs", "none", root))
        defer { _ = run("umount", root) }
        let outbox = try Outbox(in: directory)
        try outbox.write("a")
        try await outbox.start()
        try await outbox.sees("ready a")
        let user = try Directory(path: root)
        try #require(run("umount", "-l", root))
        try await outbox.sees("lost")
        #expect(user.rawValue >= 0)
        #expect(!outbox.story.contains("gone a"))
    }

    @Test func `an outbox that is a symbolic link is lost at once when the link is pointed elsewhere`() async throws {
        let directory = try TemporaryDirectory()
        for name in ["one", "two"] {
            try FileManager.default.createDirectory(atPath: directory.path(name), withIntermediateDirectories: false)
        }
        #expect(symlink("one", directory.path("outbox")) == 0)
        let outbox = try Outbox(in: directory)
        try outbox.write("a")
        try await outbox.start()
        try await outbox.sees("ready a")
        #expect(symlink("two", directory.path("new")) == 0)
        #expect(rename(directory.path("new"), directory.path("outbox")) == 0)
        try await outbox.sees("lost")
        try await outbox.sees("back false")
        try outbox.write("b")
        try await outbox.sees("ready b")
        #expect(!outbox.story.contains("gone a"))
    }

    @Test func `a missing outbox is looked for about once a second, not all the time`() async throws {
        let outbox = try Outbox(kernel: .withoutMounts)
        try await outbox.start()
        let clock = ContinuousClock()
        let start = clock.now
        #expect(rmdir(outbox.root) == 0)
        try await outbox.sees("lost")
        let before = outbox.watch.counters.rounds
        // The kernel's events of the removal may cause the first two rounds.
        try await Poll.until("a few rounds") { outbox.watch.counters.rounds >= before + 3 }
        #expect(clock.now - start >= .seconds(1))
        #expect(!outbox.watch.counters.isOutboxThere)
    }

    @Test func `an overflow is told of, and a scan finds what it hid`() async throws {
        let limit = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
        var kernel = Kernel()
        kernel.openQueue = { wakeup throws(Errno) in try InotifyQueue(wakeup: wakeup, hasReader: false) }
        let outbox = try Outbox(kernel: kernel)
        try await outbox.start()
        // Alternates between two files, because the kernel coalesces equal consecutive events.
        for name in ["a", "b"] { try outbox.write(name) }
        let enough = try #require(Int(limit.trimmingCharacters(in: .whitespacesAndNewlines)))
        for index in 0...enough { #expect(chmod(outbox.path(index % 2 == 0 ? "a" : "b"), 0o600) == 0) }
        try outbox.write("hidden")
        _ = try await outbox.rescan()
        try await outbox.sees("overflowed")
        try await outbox.sees("ready hidden")
        #expect(outbox.limits.map(\.cause) == [.queuedEvents])
        #expect(outbox.limits.first?.remedy.contains("fs.inotify.max_queued_events") == true)
        #expect(outbox.watch.counters.overflows > 0)
    }

    @Test func `a missing outbox is an error from the start`() throws {
        let directory = try TemporaryDirectory()
        #expect(throws: (any Error).self) {
            try FileWatch(root: directory.path("nothing"), options: .quick()) { _ in }
        }
    }
}
