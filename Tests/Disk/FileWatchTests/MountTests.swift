import Foundation
import Glibc
import TestSupport
import Testing
import UploadCore

@testable import FileWatch

/// Mounts and unmounts below the outbox.
@Suite(.enabled(if: getuid() == 0, "only root may mount")) struct MountTests {
    /// An outbox with a tmpfs mounted on `disk`, which holds `disk/d/f`.
    private func mounted() async throws -> Outbox {
        let outbox = try Outbox()
        try outbox.makeDirectory("disk")
        try #require(run("mount", "-t", "tmpfs", "one", outbox.path("disk")))
        try outbox.makeDirectory("disk/d")
        try outbox.write("disk/d/f")
        try await outbox.start()
        try await outbox.sees("ready disk/d/f")
        return outbox
    }

    @Test(arguments: [["umount"], ["umount", "-l"]])
    func `files of an unmounted file system are not gone`(command: [String]) async throws {
        let outbox = try await mounted()
        defer { _ = run("umount", "-l", outbox.path("disk")) }
        #expect(command.count == 1 ? run("umount", outbox.path("disk")) : run("umount", "-l", outbox.path("disk")))
        try await outbox.sees("mount lost disk")
        let scan = try await outbox.rescan()
        #expect(scan.lostMounts == [try relative("disk")])
        let file = try relative("disk/d/f")
        let neighbour = try relative("disk2")
        #expect(scan.contains(file) && !scan.found(file))
        #expect(scan.isUnvouched(file) && !scan.isUnvouched(neighbour))
        #expect(outbox.watch.counters.lostMounts == 1)
        #expect(!outbox.story.contains { $0.hasPrefix("gone") })
    }

    @Test func `a file that was settling is not gone either, nor is a mount point that is removed`() async throws {
        let outbox = try await mounted()
        for _ in 0..<10 {
            try outbox.write("disk/d/g")
            #expect(run("umount", "-l", outbox.path("disk")))
            #expect(rmdir(outbox.path("disk")) == 0)
            try outbox.makeDirectory("disk")
            _ = try await outbox.rescan()
            #expect(run("mount", "-t", "tmpfs", "one", outbox.path("disk")))
            try outbox.makeDirectory("disk/d")
            _ = try await outbox.rescan()
        }
        #expect(run("umount", "-l", outbox.path("disk")))
        _ = try await outbox.rescan()
        #expect(!outbox.story.contains { $0.hasPrefix("gone disk") })
    }

    @Test func `the same file system is known again, and a file removed meanwhile is missing then`() async throws {
        let outbox = try await mounted()
        let other = outbox.directory.path("other")
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        try #require(run("mount", "--bind", outbox.path("disk"), other))
        defer { _ = run("umount", "-l", other) }
        #expect(run("umount", outbox.path("disk")))
        try await outbox.sees("mount lost disk")
        #expect(unlink(other + "/d/f") == 0)
        #expect(run("mount", "--bind", other, outbox.path("disk")))
        defer { _ = run("umount", "-l", outbox.path("disk")) }
        try await outbox.sees("mounted disk true")
        let scan = try await outbox.rescan()
        #expect(!scan.contains(try relative("disk/d/f")))
        try outbox.write("disk/d/g")
        try await outbox.sees("ready disk/d/g")
    }

    @Test func `another file system in its place is told from it, and watched`() async throws {
        let outbox = try await mounted()
        defer { _ = run("umount", "-l", outbox.path("disk")) }
        #expect(run("umount", outbox.path("disk")))
        try await outbox.sees("mount lost disk")
        #expect(run("mount", "-t", "tmpfs", "two", outbox.path("disk")))
        try await outbox.sees("mounted disk false")
        try outbox.makeDirectory("disk/e")
        try outbox.write("disk/e/g")
        try await outbox.sees("ready disk/e/g")
    }

    @Test func `a file system mounted while the watch runs is found without an event`() async throws {
        let outbox = try Outbox()
        try outbox.makeDirectory("a/disk")
        try await outbox.start()
        let source = outbox.directory.path("source")
        try FileManager.default.createDirectory(atPath: source + "/d", withIntermediateDirectories: true)
        try Data("x".utf8).write(to: URL(filePath: source + "/d/f"))
        #expect(run("mount", "--bind", source, outbox.path("a/disk")))
        defer { _ = run("umount", "-l", outbox.path("a/disk")) }
        try await outbox.sees("mounted a/disk false")
        try await outbox.sees("ready a/disk/d/f")
    }

    @Test func `a mount elsewhere is none of the watch's business`() async throws {
        let outbox = try Outbox()
        try await outbox.start()
        let elsewhere = outbox.directory.path("elsewhere")
        try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: false)
        let before = outbox.watch.counters.rounds
        #expect(run("mount", "-t", "tmpfs", "none", elsewhere))
        try await Poll.until("a wake-up") { outbox.watch.counters.rounds > before }
        #expect(run("umount", elsewhere))
        _ = try await outbox.rescan()
        #expect(outbox.story == ["scanned 0", "scanned 0"])
    }
}

/// `MountBook` alone, without real mounts.
@Suite final class MountBookTests {
    private var book = MountBook()
    private let disk: RelativePath
    private let inner: RelativePath

    init() throws {
        disk = try relative("disk")
        inner = try relative("disk/inner")
    }

    private func identity(_ number: UInt64) -> MountBook.Identity {
        MountBook.Identity(fileSystem: number, source: [], inode: 1, born: 0)
    }

    /// Updates the book. The id of each mount is also the number of its file system, unless the test passes `number`.
    private func update(_ table: [RelativePath: UInt64], is number: UInt64? = nil) -> [MountBook.Change] {
        let mounts = table.mapValues { MountTable.Mount(id: $0, source: []) }
        return book.update(mounts) { _, mount in .known(self.identity(number ?? mount.id)) }
    }

    @Test func `a file system that does not answer is recognised once it does`() {
        let mounts = [disk: MountTable.Mount(id: 1, source: [])]
        #expect(book.update(mounts) { _, _ in .unanswered } == [])
        #expect(update([disk: 1]) == [])
        #expect(update([:]) == [.lost(disk)])
        let again = [disk: MountTable.Mount(id: 2, source: [])]
        #expect(book.update(again) { _, _ in .unanswered } == [])
        #expect(book.isLost(disk))
        #expect(update([disk: 2], is: 1) == [.mounted(disk, isSame: true)])
    }

    @Test func `what is mounted at first is no change`() {
        #expect(update([disk: 1]) == [])
        #expect(update([disk: 1]) == [])
    }

    @Test func `what goes is lost, with everything below it, until it is back`() {
        _ = update([disk: 1, inner: 2])
        #expect(update([:]) == [.lost(disk), .lost(inner)])
        #expect(book.isLost(disk.appending("f".utf8)))
        #expect(update([:]) == [])
        #expect(update([disk: 3], is: 1) == [.mounted(disk, isSame: true)])
        #expect(book.lost == [inner])
    }

    @Test func `another one in its place is not the same`() {
        _ = update([disk: 1])
        _ = update([:])
        #expect(update([disk: 2]) == [.mounted(disk, isSame: false)])
        #expect(!book.isLost(disk))
    }

    @Test func `a new one is not the same as anything`() {
        _ = update([:])
        #expect(update([disk: 1]) == [.mounted(disk, isSame: false)])
    }

    @Test func `one exchanged between two looks is noticed`() {
        _ = update([disk: 1])
        #expect(update([disk: 2], is: 1) == [.remounted(disk)])
        #expect(update([disk: 3]) == [.mounted(disk, isSame: false)])
    }

    @Test func `what cannot be identified is never the same`() {
        _ = book.update([disk: .init(id: 1, source: [])]) { _, _ in .known(nil) }
        _ = book.update([:]) { _, _ in .known(nil) }
        #expect(
            book.update([disk: .init(id: 2, source: [])]) { _, _ in .known(nil) } == [.mounted(disk, isSame: false)])
    }

    @Test func `a renamed directory takes its mounts along`() throws {
        _ = update([inner: 1])
        book.move(from: disk, to: try relative("tape"))
        #expect(update([try relative("tape/inner"): 1]) == [])
    }

    @Test func `mountinfo is read with its escapes, the topmost mount last`() throws {
        let text = """
            22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw
            41 22 0:40 / /home/ann/out\\040box/disk rw,nosuid shared:7 master:2 - tmpfs tmpfs rw
            42 41 0:41 / /home/ann/out\\040box/disk rw - fuse.sshfs ann@host:/pictures rw
            43 22 0:42 / /home/ann/out\\040boxes rw - tmpfs none rw
            44 22 0:43 / /home/ann/out\\040box rw - tmpfs none rw
            not a line
            45 22 0:44 / /home/ann/out\\040box/a\\134b rw shared:9 - nfs4 server:/export rw

            """
        let mounts = MountTable.parse(Array(text.utf8), below: Array("/home/ann/out box".utf8))
        #expect(
            mounts == [
                try relative("disk"): .init(
                    id: 42, source: Array("ann@host:/pictures".utf8), type: Array("fuse.sshfs".utf8)),
                try relative("a\\b"): .init(id: 45, source: Array("server:/export".utf8), type: Array("nfs4".utf8)),
            ])
        #expect(MountTable.parse(Array(text.utf8), below: Array("/".utf8)).count == 4)
    }
}
