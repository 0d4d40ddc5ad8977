import CDisk
import Glibc
import LinuxSystem
import SystemPackage

/// An open file descriptor, closed on deinit. Always opened close-on-exec.
final class OpenFile: Sendable {
    /// The same open file, for other rooms.
    let shared: SharedDescriptor

    var descriptor: Int32 { shared.rawValue }

    init(adopting descriptor: Int32) {
        shared = SharedDescriptor(Descriptor(owning: descriptor))
    }

    /// Writes all of `bytes` at `offset`; pwrite(2) alone may write less.
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

    /// Fills `buffer` from `offset` on. Returns the number of bytes read, less than the buffer's size only at the end
    /// of the file.
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

    /// Starts writing these bytes to the disk without waiting (man 2 sync_file_range).
    ///
    /// Throws if the disk refused bytes: the kernel may have dropped them, and may not report the failure again.
    func startWriting(at offset: Int64 = 0, count: Int64 = 0) throws(Errno) {
        do throws(Errno) {
            _ = try retrying {
                sync_file_range(descriptor, numericCast(offset), numericCast(count), UInt32(disk_write))
            }
        } catch .noFunction {
            return
        } catch .invalidArgument {
            return
        }
    }

    /// Hands all bytes to the disk and waits. This orders the bytes before a later rename; only
    /// ``Folder/synchronizeFileSystem()`` makes both durable.
    func finishWriting() throws(Errno) {
        let all = UInt32(disk_wait_before | disk_write | disk_wait_after)
        do throws(Errno) {
            _ = try retrying { sync_file_range(descriptor, 0, 0, all) }
        } catch .noFunction {
            try synchronize()
        } catch .invalidArgument {
            try synchronize()
        }
        // Throw any other error. The kernel reports a failed write to a descriptor only once, so a later fsync would
        // succeed.
    }

    /// Removes bytes from the page cache, except those that are not on the disk yet (man 2 posix_fadvise).
    ///
    /// - Parameter count: 0 for all that follow.
    func dropFromCache(at offset: Int64 = 0, count: Int64 = 0) {
        // Only advice: nothing depends on whether the kernel takes it.
        _ = posix_fadvise(descriptor, off_t(offset), off_t(count), POSIX_FADV_DONTNEED)
    }

    func truncate(to size: Int64) throws(Errno) {
        _ = try retrying { ftruncate(descriptor, off_t(size)) }
    }
}

/// The file attributes this program needs.
struct FileStatus: Sendable, Equatable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    /// Seconds since 1970.
    let modified: Int64
    /// The time of the last change of content or metadata, in nanoseconds since 1970.
    let changed: Int64
    let isReadableByAll: Bool
    let isRegular: Bool
    let isDirectory: Bool

    /// Reads the attributes of a file (man 2 fstatat).
    ///
    /// - Parameters:
    ///   - name: A name in the directory, or a path if the directory is `AT_FDCWD`.
    ///   - flags: The flags of fstatat(2).
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
        isDirectory = status.mode & S_IFMT == S_IFDIR
    }

    func isSameFile(as other: FileStatus) -> Bool {
        device == other.device && inode == other.inode
    }
}

/// Repeats a system call while signals interrupt it. Throws the `errno` of any other failure.
func retrying<Result: FixedWidthInteger & SignedInteger>(_ call: () -> Result) throws(Errno) -> Result {
    while true {
        let result = call()
        if result != -1 { return result }
        let error = Errno(rawValue: errno)
        if error != .interrupted { throw error }
    }
}
