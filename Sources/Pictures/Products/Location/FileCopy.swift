import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// Copies between files in the kernel, which shares the blocks if the file system can (man 2 copy_file_range).
enum FileCopy {
    private static let pieceSize = 8 << 20

    /// Copies bytes. A source that shrinks meanwhile gives a shorter copy.
    ///
    /// - Parameter offset: Where the bytes begin in the source.
    /// - Throws: ``ProductFailure``, also if the task was cancelled.
    static func copy(
        _ source: SharedDescriptor, from offset: UInt64 = 0, count: UInt64, to target: SharedDescriptor,
        _ cancellation: Cancellation
    ) throws(ProductFailure) {
        var done: UInt64 = 0
        var sharesBlocks = true
        while done < count {
            try cancellation.check()
            let wanted = Int(min(count - done, UInt64(pieceSize)))
            do throws(Errno) {
                let copied =
                    sharesBlocks
                    ? try copyRange(source, offset + done, target, done, wanted)
                    : try copyBytes(source, offset + done, target, done, wanted)
                if copied == 0 { return }
                done += UInt64(copied)
            } catch {
                // Between two file systems, or on one that can't.
                let isUnable: [Errno] = [.improperLink, .invalidArgument, .notSupported, .noFunction]
                if sharesBlocks, isUnable.contains(error) { sharesBlocks = false } else { throw failure(error) }
            }
        }
    }

    /// The failure of a write to a file at work.
    static func failure(_ error: Errno) -> ProductFailure {
        error == .noSpace || error == .diskQuotaExceeded ? .noSpace : .failed("cannot copy a file: \(error)")
    }

    private static func copyRange(
        _ source: SharedDescriptor, _ from: UInt64, _ target: SharedDescriptor, _ to: UInt64, _ count: Int
    ) throws(Errno) -> Int {
        try retryingOnInterrupt {
            outbox_copy_range(source.rawValue, Int64(from), target.rawValue, Int64(to), count)
        }
    }

    private static func copyBytes(
        _ source: SharedDescriptor, _ from: UInt64, _ target: SharedDescriptor, _ to: UInt64, _ count: Int
    ) throws(Errno) -> Int {
        let bytes = try source.bytes(at: from, count: min(count, 1 << 20))
        try target.write(bytes, at: to)
        return bytes.count
    }
}

extension SharedDescriptor {
    /// Reads bytes at an offset; fewer at the end of the file.
    func bytes(at offset: UInt64, count: Int) throws(Errno) -> [UInt8] {
        var failure: Errno?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(Errno) {
                filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Writes all bytes at an offset (man 2 pwrite).
    func write(_ bytes: [UInt8], at offset: UInt64) throws(Errno) {
        var done = 0
        while done < bytes.count {
            done += try retryingOnInterrupt {
                bytes[done...].withUnsafeBytes {
                    pwrite(rawValue, $0.baseAddress, $0.count, off_t(offset) + off_t(done))
                }
            }
        }
    }
}
