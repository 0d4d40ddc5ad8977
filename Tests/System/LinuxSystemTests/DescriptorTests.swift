import Foundation
import LinuxSystem
import SystemPackage
import TestSupport
import Testing

@Suite("Descriptor")
struct DescriptorTests {
    @Test("is closed when its owner is released")
    func closes() throws {
        let number: Int32
        do {
            let descriptor = Descriptor(
                owning: try retryingOnInterrupt { open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
            number = dup(descriptor.rawValue)
            #expect(fcntl(descriptor.rawValue, F_GETFD) >= 0)
        }
        // The kernel can't reuse the number of an open descriptor.
        #expect(fcntl(number, F_GETFD) >= 0)
        do { _ = Descriptor(owning: number) }
        #expect(isClosed(number, orNotDirectory: "/"))
    }

    @Test("stays open when its ownership is given away")
    func release() throws {
        let number: Int32
        do {
            let descriptor = Descriptor(
                owning: try retryingOnInterrupt { open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
            number = descriptor.release()
        }
        #expect(fcntl(number, F_GETFD) >= 0)
        close(number)
    }

    @Test("reads at an offset until the buffer is full or the file ends")
    func read() throws {
        let place = try TemporaryDirectory()
        try Data("0123456789".utf8).write(to: URL(fileURLWithPath: place.path("file")))
        let file = SharedDescriptor(try Directory(path: place.path).open(Array("file".utf8), flags: O_RDONLY))
        var buffer = [UInt8](repeating: 0, count: 4)
        #expect(try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: 3) } == 4)
        #expect(buffer == Array("3456".utf8))
        #expect(try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: 8) } == 2)
        #expect(try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: 100) } == 0)
    }

    /// Whether the number is closed, or now belongs to another file because another test reused the number.
    private func isClosed(_ number: Int32, orNotDirectory path: String) -> Bool {
        guard let now = try? FileStatus(of: number), let before = try? FileStatus(path: path) else { return true }
        return now.inode != before.inode || now.device != before.device
    }
}

@Suite("Retrying on interrupt")
struct RetryingOnInterruptTests {
    @Test("calls again after EINTR and returns the result")
    func retries() throws {
        var calls = 0
        let result: Int32 = try retryingOnInterrupt {
            calls += 1
            errno = EINTR
            return calls < 4 ? -1 : 42
        }
        #expect(result == 42)
        #expect(calls == 4)
    }

    @Test("throws any other error at once")
    func throwsOthers() {
        var calls = 0
        #expect(throws: Errno.permissionDenied) {
            try retryingOnInterrupt { () -> Int32 in
                calls += 1
                errno = EACCES
                return -1
            }
        }
        #expect(calls == 1)
    }
}
