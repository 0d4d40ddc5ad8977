import Foundation
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import FileWatch

/// A mount below the outbox that does not answer: a directory which a mount table of the test calls a mount.
@Suite struct UnansweredTests {
    /// Holds calls back until the test opens it.
    private final class Door: Sendable {
        private let isOpen = Mutex(false)

        func open() { isOpen.withLock { $0 = true } }
        func pass() { while !isOpen.withLock(\.self) { usleep(1000) } }
    }

    @Test func `a directory that does not answer holds up no other, and is listed once it does`() async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path("outbox")
        try FileManager.default.createDirectory(atPath: root + "/usb", withIntermediateDirectories: true)
        let table = directory.path("mountinfo")
        try Data("70 60 8:1 / / rw - ext4 /dev/sda rw\n71 70 0:50 / \(root)/usb rw - fuse.test none rw\n".utf8)
            .write(to: URL(fileURLWithPath: table))
        let door = Door()
        defer { door.open() }
        let usb = try FileStatus(path: root + "/usb").inode
        var kernel = Kernel()
        kernel.watch = { queue, directory, isRoot throws(Errno) in
            if try FileStatus(of: directory.rawValue).inode == usb { door.pass() }
            return try queue.watch(directory, isRoot: isRoot)
        }
        var options = FileWatch.Options.quick()
        options.mounts = OutboxMounts(root: root, lanes: Lanes(), monitor: try MountMonitor(path: table))
        let outbox = try Outbox(options, in: directory, kernel: kernel)
        try outbox.write("usb/slow.bin")
        try await outbox.start()
        let isVouched = outbox.scans.first?.isUnvouched(try relative("usb/slow.bin"))
        #expect(isVouched == true)
        #expect(outbox.watch.counters.unanswered == 1)
        try outbox.write("quick.bin")
        try await outbox.sees("ready quick.bin")
        #expect(!outbox.story.contains("ready usb/slow.bin"))

        door.open()
        try await outbox.sees("ready usb/slow.bin")
        try await Poll.until("nothing unanswered") { outbox.watch.counters.unanswered == 0 }
    }

    @Test func `paths on a mount have a place, and a mount point without its mount is bare`() throws {
        let directory = try TemporaryDirectory()
        let root = directory.path("outbox")
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        let table = directory.path("mountinfo")
        let disk = "70 60 8:1 / / rw - ext4 /dev/sda rw\n"
        let write = { (text: String) in try Data(text.utf8).write(to: URL(fileURLWithPath: table)) }
        try write(disk + "71 70 0:50 / \(root)/usb rw - fuse.test none rw\n")
        let mounts = OutboxMounts(root: root, lanes: Lanes(), monitor: try MountMonitor(path: table))
        #expect(mounts.place(of: try relative("usb/a"))?.name == root + "/usb")
        #expect(mounts.place(of: try relative("usb2")) == nil)
        #expect(!mounts.isBare(try relative("usb/a")))
        try write(disk)
        mounts.refresh()
        #expect(mounts.place(of: try relative("usb/a")) == nil)
        #expect(mounts.isBare(try relative("usb/a")))
        #expect(!mounts.isBare(try relative("usb2")))
        try write(disk + "72 70 0:50 / \(root)/usb rw - fuse.test none rw\n")
        mounts.refresh()
        #expect(!mounts.isBare(try relative("usb/a")))
    }

    @Test func `an outbox on a file system of another process has a place`() throws {
        let directory = try TemporaryDirectory()
        let table = directory.path("mountinfo")
        let base = try FileManager.default.destinationOfSymbolicLinkOrSelf(directory.path)
        try Data("70 60 8:1 / / rw - ext4 /dev/sda rw\n71 70 0:50 / \(base) rw - fuse.sshfs host: rw\n".utf8)
            .write(to: URL(fileURLWithPath: table))
        let mounts = OutboxMounts(root: base, lanes: Lanes(), monitor: try MountMonitor(path: table))
        #expect(mounts.place(of: .root)?.name == base)
    }
}

extension FileManager {
    fileprivate func destinationOfSymbolicLinkOrSelf(_ path: String) throws -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }
}
