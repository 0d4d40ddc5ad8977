import CLinux
import Glibc
import SystemPackage

/// What this process keeps of the machine's memory.
public enum Memory {
    /// Has all threads share one heap. By default, glibc has up to eight heaps for each processor, and what one has freed, no
    /// other can use.
    ///
    /// Must be called before anything else has started threads.
    public static func useOneHeap() { outbox_limit_arenas(1) }

    /// Returns free pages of the heap to the kernel.
    public static func trimHeap() { outbox_trim_heap() }

    /// Returns how many bytes of files are mapped and present: the third number of /proc/self/statm (man 5 proc_pid_statm).
    /// `nil` without /proc.
    public static func mappedFileBytes() -> Int? {
        guard let file = try? FileDescriptor.open("/proc/self/statm", .readOnly, options: .closeOnExec) else {
            return nil
        }
        defer { try? file.close() }
        var buffer = [UInt8](repeating: 0, count: 128)
        guard let count = try? buffer.withUnsafeMutableBytes({ try file.read(into: $0) }) else { return nil }
        let numbers = buffer[..<count].split(separator: UInt8(ascii: " "))
        guard numbers.count > 2, let pages = Int(String(decoding: numbers[2], as: UTF8.self)) else { return nil }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Unmaps the pages of program and libraries. The kernel maps a page again when its code runs: a minor fault for 16
    /// pages.
    public static func unmapCode() { outbox_unmap_code() }
}
