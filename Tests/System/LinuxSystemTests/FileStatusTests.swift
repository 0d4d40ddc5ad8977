import Foundation
import LinuxSystem
import SystemPackage
import TestSupport
import Testing

@Suite("File status")
struct FileStatusTests {
    private let place: TemporaryDirectory

    init() throws {
        place = try TemporaryDirectory()
    }

    @Test("has size, mode, owner, links and kind")
    func fields() throws {
        let path = place.path("file")
        try Data(repeating: 7, count: 1234).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o4640)
        link(path, place.path("second"))
        let status = try FileStatus(path: path)
        #expect(status.kind == .regular)
        #expect(status.size == 1234)
        #expect(status.permissions == 0o4640)
        #expect(status.owner == geteuid())
        #expect(status.links == 2)
        #expect(try FileStatus(path: place.path("second")) == status)
    }

    @Test("has the modification time to the nanosecond, also before 1970", arguments: [1_700_000_000, -5])
    func modified(seconds: Int) throws {
        let path = place.path("file")
        try Data("x".utf8).write(to: URL(fileURLWithPath: path))
        let time = timespec(tv_sec: seconds, tv_nsec: 123_456_789)
        #expect(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
        #expect(try FileStatus(path: path).modified == Int64(seconds) * 1_000_000_000 + 123_456_789)
    }

    @Test("shows a change of attributes in ctime alone")
    func changed() async throws {
        let path = place.path("file")
        try Data("x".utf8).write(to: URL(fileURLWithPath: path))
        let before = try FileStatus(path: path)
        // The kernel's clock for file times is coarse, so repeat the change until ctime differs.
        let after = try await Poll.value("a new ctime") {
            chmod(path, 0o600)
            let status = try FileStatus(path: path)
            return status.changed == before.changed ? nil : status
        }
        #expect(after.modified == before.modified)
        #expect(after.inode == before.inode)
        #expect(after.born == before.born)
    }

    @Test("distinguishes kinds of files")
    func kinds() throws {
        #expect(try FileStatus(path: place.path).kind == .directory)
        #expect(try FileStatus(path: "/dev/null").kind == .device)
        mkfifo(place.path("pipe"), 0o600)
        #expect(try FileStatus(path: place.path("pipe")).kind == .fifo)
    }

    @Test("throws for a missing file")
    func missing() {
        #expect(throws: Errno.noSuchFileOrDirectory) { try FileStatus(path: place.path("none")) }
        #expect(throws: Errno.badFileDescriptor) { try FileStatus(of: -1) }
    }
}
