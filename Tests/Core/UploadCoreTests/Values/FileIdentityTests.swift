import Testing
import UploadCore

@Suite("File identity")
struct FileIdentityTests {
    private static let second: Int64 = 1_000_000_000
    private static let now: Int64 = 1_795_253_400 * second

    @Test(
        "a file read within the granularity of its times is untrusted",
        arguments: [
            // Nanoseconds: the kernel's clock advances in ticks of up to 10 ms.
            (modified: now + 1, changed: now + 1, read: now + 10_000_000, isRacy: true),
            (now + 1, now + 1, now + 10_000_001, false),
            (now + 1, now + 1, now - second, true),
            // Whole seconds: ext2 and ext3 with small inodes, SFTP, and vfat with two-second times.
            (now, now, now + second / 2, true),
            (now, now, now + 2 * second - 1, true),
            (now, now, now + 2 * second, false),
            // An old vfat, with a finer ctime than mtime.
            (now, now + 120_000_000, now + second, true),
            // An mtime set by a program, and a ctime that no program can set.
            (now + 100 * second, now + 1, now + second, false),
            (now, now + 1, now + second, false),
            (Int64.max / second * second, Int64.max / second * second, now, true),
            // Before 1970.
            (-5 * second, -5 * second, -4 * second, true), (-5 * second, -5 * second, now, false),
        ])
    func racy(modified: Int64, changed: Int64, read: Int64, isRacy: Bool) {
        let file = FileIdentity(device: 1, inode: 2, size: 3, modified: modified, changed: changed, born: 0)
        #expect(file.isRacy(readAt: read) == isRacy)
    }

    @Test("an untrusted identity names the same file, but equals no identity read later")
    func untrusted() {
        let file = FileIdentity(device: 1, inode: 2, size: 3, modified: 4, changed: 5, born: 6)
        #expect(file.untrusted.isUntrusted && !file.isUntrusted)
        #expect(file.untrusted != file && file.untrusted.isSameFile(as: file) && file.untrusted.isSameInode(as: file))
    }
}
