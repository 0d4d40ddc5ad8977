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

    /// Has the kernel map the code of program and libraries page by page, as it runs. By default it maps up to 16 pages for
    /// each page that runs, which is three times as much in the end. Needs Linux 6.7; without it, nothing changes.
    public static func mapCodeByPage() {
        guard let faults else { return }
        outbox_map_code_by_page(faults.rawValue)
    }

    /// Has the kernel map a mapped file page by page, as ``mapCodeByPage()`` does.
    public static func mapByPage(_ addresses: UnsafeMutableRawBufferPointer) {
        guard let faults, let start = addresses.baseAddress else { return }
        outbox_map_single_pages(faults.rawValue, UInt(bitPattern: start), addresses.count)
    }

    /// Whether the kernel can map files page by page.
    public static var canMapByPage: Bool { faults != nil }

    /// Stays open as long as the process lives. If it were closed, the kernel would map 16 pages at a time again.
    private static let faults: FileDescriptor? = {
        let descriptor = outbox_open_faults()
        return descriptor < 0 ? nil : FileDescriptor(rawValue: descriptor)
    }()

    /// Returns free pages of the heap to the kernel.
    public static func trimHeap() { outbox_trim_heap() }

    /// Returns how many bytes of files are mapped and present: the third number of /proc/self/statm (man 5 proc_pid_statm).
    /// `nil` without /proc.
    public static func mappedFileBytes() -> Int? {
        guard let statm else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            guard let count = try? statm.read(fromAbsoluteOffset: 0, into: buffer) else { return nil }
            var pages = 0
            var spaces = 0
            for byte in buffer[..<count] {
                if byte == UInt8(ascii: " ") {
                    spaces += 1
                } else if spaces == 2 {
                    guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                    pages = pages * 10 + Int(byte - UInt8(ascii: "0"))
                }
            }
            return spaces > 2 ? pages * Int(sysconf(Int32(_SC_PAGESIZE))) : nil
        }
    }

    /// /proc/self/statm, open as long as the process lives: each read gives the figures of its moment.
    private static let statm = try? FileDescriptor.open("/proc/self/statm", .readOnly, options: .closeOnExec)
}
