import Glibc
import LinuxSystem

/// Reads how much memory a process occupies (man 5 proc, statm). The file stays open: each read is one system call.
package struct ResidentMemory {
    private let file: SharedDescriptor?

    /// Opens the figures of a process.
    package init(of pid: Int32) {
        file = try? SharedDescriptor(opening: "/proc/\(pid)/statm", flags: O_RDONLY)
    }

    /// The current number of bytes; 0 if unreadable.
    package var bytes: Int {
        let pages = withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer -> Int? in
            guard let count = try? file?.read(into: buffer, at: 0) else { return nil }
            let numbers = buffer[..<count].split(separator: UInt8(ascii: " "))
            return numbers.count > 1 ? Int(String(decoding: numbers[1], as: UTF8.self)) : nil
        }
        return (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }
}
