import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import FileWatch

/// File systems that other machines or processes can change.
@Suite struct FileSystemTests {
    // Typed by hand from man 2 statfs and linux/magic.h. The test compares the program's table entry by entry.
    private static let shared: [(magic: UInt32, name: String)] = [
        (0x6969, "nfs"), (0x517B, "smb"), (0xFF53_4D42, "cifs"), (0xFE53_4D42, "smb2"), (0x6573_5546, "fuse"),
        (0x0102_1997, "9p"), (0x5346_414F, "afs"), (0x6B41_4653, "kafs"), (0xC3_6400, "ceph"),
        (0x7375_7245, "coda"), (0x564C, "ncp"), (0x786F_4256, "vboxsf"), (0xBACB_ACBC, "vmhgfs"),
        (0x7C7C_6673, "prl_fs"), (0x0BD0_0BD0, "lustre"), (0x0116_1970, "gfs2"), (0x7461_636F, "ocfs2"),
        (0x4750_4653, "gpfs"), (0x1983_0326, "beegfs"), (0x2003_0528, "orangefs"), (0xC0_FFEE, "hostfs"),
    ]
    private static let local: [(magic: UInt32, name: String)] = [
        (0xEF53, "ext4"), (0x9123_683E, "btrfs"), (0x5846_5342, "xfs"), (0xF2F5_2010, "f2fs"),
        (0x0102_1994, "tmpfs"), (0x8584_58F6, "ramfs"), (0x794C_7630, "overlay"), (0x6175_6673, "aufs"),
        (0xF15F, "ecryptfs"), (0x2FC1_2FC1, "zfs"), (0xCA45_1A4E, "bcachefs"), (0x5265_4973, "reiserfs"),
        (0x3153_464A, "jfs"), (0x3434, "nilfs"), (0x72B6, "jffs2"), (0x2405_1905, "ubifs"), (0x4D44, "vfat"),
        (0x2011_BAB0, "exfat"), (0x5346_544E, "ntfs"), (0x7366_746E, "ntfs3"), (0x482B, "hfsplus"),
        (0x1501_3346, "udf"), (0x9660, "iso9660"), (0x7371_7368, "squashfs"), (0xE0F5_E1E2, "erofs"),
        (0x137F, "minix"),
    ]

    @Test(arguments: shared) func `one that others can change is polled`(magic: UInt32, name: String) {
        let type = FileSystemType(magic: magic)
        #expect(type.name == name && type.isShared)
    }

    @Test(arguments: local) func `one that this kernel alone changes is watched`(magic: UInt32, name: String) {
        let type = FileSystemType(magic: magic)
        #expect(type.name == name && !type.isShared)
    }

    @Test func `the tables have nothing else in them`() {
        #expect(FileSystemType.shared.count == Self.shared.count)
        #expect(FileSystemType.local.count == Self.local.count)
    }

    @Test func `one that is not in the table is polled to be safe`() {
        #expect(FileSystemType(magic: 0xABCD_0123) == FileSystemType(magic: 0xABCD_0123))
        #expect(FileSystemType(magic: 0xABCD_0123).isShared)
        #expect(FileSystemType(magic: 0xABCD_0123).name == "0xabcd0123")
    }

    /// A kernel that reports NFS for every file.
    private var remote: Kernel {
        var kernel = Kernel()
        kernel.fileSystem = { _ in FileSystemType(magic: 0x6969) }
        return kernel
    }

    @Test func `directories of a shared file system are watched and polled, and that is no limit`() async throws {
        let outbox = try Outbox(kernel: remote)
        try outbox.makeDirectory("a")
        try await outbox.start()
        #expect(outbox.scans.first?.unwatched == 0)
        try await Poll.until("polls") { outbox.watch.counters.polls > 3 }
        #expect(outbox.watch.counters.polled == [.sharedFileSystem("nfs"): 2])
        #expect(outbox.watch.counters.watches == 2)
        #expect(outbox.limits.isEmpty)
    }

    @Test func `a file without writer must stand unchanged on a shared file system, and not on a local one`() throws {
        let directory = try TemporaryDirectory()
        try Data("x".utf8).write(to: URL(filePath: directory.path("f")))
        let place = try Directory(path: directory.path)
        let status = try FileStatus(path: directory.path("f"))
        for (magic, look) in [(UInt32(0x6969), Look.unknown(status)), (0xEF53, .free(status))] {
            let probe = WriterProbe { _ in FileSystemType(magic: magic) }
            #expect(probe.look(at: Array("f".utf8), in: place) == look)
        }
        let writer = open(directory.path("f"), O_WRONLY | O_CLOEXEC)
        #expect(WriterProbe { _ in FileSystemType(magic: 0x6969) }.look(at: Array("f".utf8), in: place) == .busy)
        close(writer)
    }

    @Test(.enabled(if: BindFS.isThere, "needs bindfs and a /dev/fuse that may be used"))
    func `what is written behind a FUSE mount is found by polling`() async throws {
        let mount = try BindFS()
        defer { mount.unmount() }
        let outbox = try Outbox(in: mount.directory)
        try await outbox.start()
        try Data("x".utf8).write(to: URL(filePath: mount.behind + "/f"))
        try await outbox.sees("ready f")
        #expect(outbox.watch.counters.polled == [.sharedFileSystem("fuse"): 1])
    }

    @Test(.enabled(if: BindFS.isThere, "needs bindfs and a /dev/fuse that may be used"))
    func `a file that somebody goes on writing behind a FUSE mount is not ready`() async throws {
        let mount = try BindFS()
        defer { mount.unmount() }
        // Longer than any pause of the writer on a busy machine, and shorter than the writer's whole run.
        let outbox = try Outbox(.quick(unknownWriterWait: .seconds(6)), in: mount.directory)
        try await outbox.start()
        let writer = try Writer(mount.behind + "/slow")
        try await outbox.sees("seen slow")
        for index in 0..<160 {
            let polls = outbox.watch.counters.polls
            try writer.append("part \(index)")
            try await Poll.until("a poll") { outbox.watch.counters.polls > polls }
        }
        #expect(!outbox.story.contains("ready slow"))
        writer.close()
        try await outbox.sees("ready slow")
    }

    @Test(.enabled(if: BindFS.isThere, "needs bindfs and a /dev/fuse that may be used"))
    func `a FUSE mount whose process died makes nothing gone`() async throws {
        let mount = try BindFS(at: "outbox/sub")
        let outbox = try Outbox(in: mount.directory)
        try outbox.write("sub/f")
        try await outbox.start()
        try await outbox.sees("ready sub/f")
        mount.kill()
        let dead = try await outbox.rescan()
        #expect(dead.contains(try relative("sub/f")))
        mount.unmount()
        try await outbox.sees("mount lost sub")
        #expect(try await outbox.rescan().contains(relative("sub/f")))
        #expect(!outbox.story.contains { $0.hasPrefix("gone") })
    }
}

/// A directory mounted a second time through FUSE (bindfs).
private final class BindFS {
    let directory: TemporaryDirectory
    let behind: String
    private let point: String
    private let process = Process()

    /// Whether bindfs works here, found by trying a mount.
    static let isThere: Bool = {
        guard let mount = try? BindFS() else { return false }
        mount.unmount()
        return true
    }()

    init(at path: String = "outbox") throws {
        directory = try TemporaryDirectory()
        behind = directory.path("behind")
        point = directory.path(path)
        for path in [behind, point] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0", behind, point]
        process.standardError = FileHandle.nullDevice
        try process.run()
        while process.isRunning {
            if let top = try? Directory(path: point), (try? FileSystemType(of: top.rawValue))?.name == "fuse" { return }
            usleep(2000)
        }
        throw CocoaError(.featureUnsupported)
    }

    func unmount() {
        _ = run("umount", "-l", point)
        kill()
    }

    /// Kills the process that serves the mount.
    func kill() {
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
