import CDisk
import Glibc
import SystemPackage

/// An open descriptor that closes itself when nobody uses it any more. Always opened close-on-exec.
final class OpenFile: Sendable {
    let descriptor: Int32

    init(adopting descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Writes all of `bytes` at `offset` (man 2 pwrite may write less).
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
        var rest = bytes
        var offset = offset
        while !rest.isEmpty {
            let slice = rest
            let count = try retrying { pwrite(descriptor, slice.baseAddress, slice.count, off_t(offset)) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            offset += Int64(count)
        }
    }

    /// Appends all of `bytes`; the descriptor must have been opened with O_APPEND.
    func append(_ bytes: UnsafeRawBufferPointer) throws(Errno) {
        var rest = bytes
        while !rest.isEmpty {
            let slice = rest
            let count = try retrying { Glibc.write(descriptor, slice.baseAddress, slice.count) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Fills `buffer` from `offset` on; returns less than its size only at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let position = off_t(offset) + off_t(filled)
            let count = try retrying { pread(descriptor, rest.baseAddress, rest.count, position) }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    func status() throws(Errno) -> FileStatus {
        try FileStatus(of: "", in: descriptor, flags: Int32(disk_empty_path))
    }

    func synchronize() throws(Errno) {
        _ = try retrying { fdatasync(descriptor) }
    }

    /// Starts writing these bytes to the disk and does not wait for it (man 2 sync_file_range). Failing is harmless:
    /// they are written later then.
    func startWriting(at offset: Int64 = 0, count: Int64 = 0) {
        _ = sync_file_range(descriptor, offset, count, UInt32(disk_write))
    }

    /// Returns when all bytes have been handed to the disk. That orders them before a renaming that follows; only
    /// ``Folder/synchronizeFileSystem()`` makes either last.
    func finishWriting() throws(Errno) {
        let all = UInt32(disk_wait_before | disk_write | disk_wait_after)
        do throws(Errno) {
            _ = try retrying { sync_file_range(descriptor, 0, 0, all) }
        } catch .noFunction {
            try synchronize()
        } catch .invalidArgument {
            try synchronize()
        }
        // Any other error stands: a descriptor is told of bytes that could not be written once only, so that fsync
        // would find nothing wrong any more.
    }

    func truncate(to size: Int64) throws(Errno) {
        _ = try retrying { ftruncate(descriptor, off_t(size)) }
    }
}

/// What this program wants to know of a file.
struct FileStatus: Sendable, Equatable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    /// Seconds since 1970.
    let modified: Int64
    /// The last change of content or metadata, in nanoseconds since 1970.
    let changed: Int64
    let isReadableByAll: Bool
    let isRegular: Bool

    /// Looks at a file (man 2 fstatat).
    ///
    /// - Parameters:
    ///   - name: in the directory, or a path where the directory is `AT_FDCWD`.
    ///   - flags: of fstatat(2).
    init(of name: String, in directory: Int32, flags: Int32 = 0) throws(Errno) {
        var status = disk_status()
        _ = try retrying { disk_get_status(directory, name, flags, &status) }
        device = status.device
        inode = status.inode
        size = status.size
        modified = status.modified
        changed = status.changed
        isReadableByAll = status.mode & S_IROTH != 0
        isRegular = status.mode & S_IFMT == S_IFREG
    }

    func isSameFile(as other: FileStatus) -> Bool {
        device == other.device && inode == other.inode
    }
}

/// Runs a system call again while a signal interrupts it; a result of -1 becomes the error it stands for.
func retrying<Result: FixedWidthInteger & SignedInteger>(_ call: () -> Result) throws(Errno) -> Result {
    while true {
        let result = call()
        if result != -1 { return result }
        let error = Errno(rawValue: errno)
        if error != .interrupted { throw error }
    }
}
