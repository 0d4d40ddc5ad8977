import Glibc
public import SystemPackage

extension Directory {
    /// Replaces or creates a file; on return the new content is durable. A reader sees either the whole old content
    /// or the whole new content.
    ///
    /// Writes to `.NAME.new`, which a kill may leave behind. The next call removes such a leftover.
    ///
    /// - Parameter mode: permission bits of the file.
    /// - Throws: `Errno` of the failed call; the old file stays in place.
    public func replace(_ name: String, with bytes: [UInt8], mode: UInt32) throws(Errno) {
        let temporary = Array(".\(name).new".utf8)
        do throws(Errno) { try unlink(temporary) } catch { if error != .noSuchFileOrDirectory { throw error } }
        let file = try open(temporary, flags: O_WRONLY | O_CREAT | O_EXCL, mode: mode)
        do throws(Errno) {
            try writeAll(bytes, to: file.rawValue)
            try retryingOnInterrupt { fsync(file.rawValue) }
            try rename(temporary, to: Array(name.utf8))
        } catch {
            try? unlink(temporary)
            throw error
        }
        try retryingOnInterrupt { fsync(rawValue) }
    }
}
