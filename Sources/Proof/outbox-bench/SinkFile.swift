import CDisk
import Digests
import Glibc
import LinuxSystem
import SystemPackage

/// The file in which a sink stores a body.
struct SinkFile {
    let path: String
    /// Whether the sink computes the MD5 of the body, and flushes the file.
    let verifies: Bool

    /// Stores a body.
    ///
    /// - Parameters:
    ///   - early: The bytes already read.
    ///   - count: The number of bytes to read.
    /// - Throws: `Failure` if the client hangs up; an `Errno`.
    func store(_ early: [UInt8], andNext count: Int, from connection: FileDescriptor) throws {
        let file = try FileDescriptor.open(
            FilePath(path), .writeOnly, options: [.create, .truncate, .closeOnExec], permissions: .ownerReadWrite)
        try file.closeAfter {
            _ = try file.writeAll(early)
            if verifies {
                try copy(count, from: connection, to: file, md5: BesideHasher(early))
                try file.flush()
            } else {
                try copy(count, from: connection, to: file, md5: nil)
            }
        }
    }

    /// Copies bytes, and hashes each megabyte while the next one arrives. A file to verify goes to the disk meanwhile and
    /// leaves the page cache, as in `outbox-receiver`.
    private func copy(
        _ count: Int, from connection: FileDescriptor, to file: FileDescriptor, md5: BesideHasher?
    ) throws {
        var buffers = (0..<2).map { _ in UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096) }
        defer { buffers.forEach { $0.deallocate() } }
        var full = UnsafeRawBufferPointer(start: nil, count: 0)
        var left = count
        while left > 0 {
            let space = UnsafeMutableRawBufferPointer(rebasing: buffers[0].prefix(left))
            var outcome: Result<Int, any Error> = .success(0)
            func step() { outcome = Result { try connection.fill(space, thenWriteTo: file) } }
            if let md5 { md5.hash(full) { step() } } else { step() }
            left -= try outcome.get()
            if verifies { file.pass(count - left) }
            full = UnsafeRawBufferPointer(space)
            buffers.swapAt(0, 1)
        }
        md5?.hash(full) {}
    }
}

/// Computes the MD5 of a body on a thread of its own.
private final class BesideHasher: @unchecked Sendable {
    // Unchecked: `SerialThread.run(_:beside:)` orders the accesses.
    private var md5 = MD5Hasher()
    private let thread = SerialThread(name: "md5")

    init(_ early: [UInt8]) { early.withUnsafeBytes { md5.update($0) } }

    /// Hashes the next bytes while `work` runs.
    func hash(_ bytes: UnsafeRawBufferPointer, beside work: () -> Void) {
        // Read by the thread until `run` returns, and nobody writes to them meanwhile.
        nonisolated(unsafe) let bytes = bytes
        thread.run({ self.md5.update(bytes) }, beside: work)
    }
}

extension FileDescriptor {
    /// Reads as many bytes as there is space for, writes them to a file, and returns their number.
    fileprivate func fill(_ space: UnsafeMutableRawBufferPointer, thenWriteTo file: FileDescriptor) throws -> Int {
        var count = 0
        while count < space.count {
            let read = try read(into: UnsafeMutableRawBufferPointer(rebasing: space[count...]))
            guard read > 0 else { throw Failure("the client hung up") }
            count += read
        }
        return try file.writeAll(UnsafeRawBufferPointer(space))
    }

    /// After every 8 MiB, starts writing the last 8 MiB to the disk, and drops the 8 MiB that lie 64 MiB before them from
    /// the page cache (man 2 sync_file_range, man 2 posix_fadvise).
    ///
    /// - Parameter count: the number of bytes written to the file.
    fileprivate func pass(_ count: Int) {
        let step = 8 << 20
        guard count >= step, count.isMultiple(of: step) else { return }
        // A failure shows when the file is flushed.
        _ = sync_file_range(rawValue, numericCast(count - step), numericCast(step), UInt32(disk_write))
        if count >= 9 * step { _ = posix_fadvise(rawValue, count - 9 * step, step, POSIX_FADV_DONTNEED) }
    }

    /// Writes the file's bytes to the disk (man 2 fdatasync).
    fileprivate func flush() throws {
        guard fdatasync(rawValue) == 0 else { throw Failure.system("fdatasync") }
    }
}
