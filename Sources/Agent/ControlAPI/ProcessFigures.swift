import Glibc
import LinuxSystem

/// Measurements of this process (man 5 proc).
struct ProcessFigures: Equatable, Sendable {
    /// Resident memory in bytes; `nil` if unknown.
    var residentBytes: UInt64?
    /// Number of open descriptors; `nil` if unknown.
    var openDescriptors: Int?
    /// User and system processor time since the start, in seconds.
    var processorSeconds: Double

    /// Measures this process. Reads /proc, which never waits for a disk.
    static func now() -> ProcessFigures {
        ProcessFigures(
            residentBytes: readResidentBytes(), openDescriptors: countDescriptors(),
            processorSeconds: Double(processorNanoseconds()) / 1e9)
    }

    func write(into text: inout PrometheusText) {
        if let residentBytes {
            text.add(.gauge, "resident_memory_bytes", residentBytes, "Resident memory of the agent.")
        }
        if let openDescriptors {
            text.add(.gauge, "open_descriptors", openDescriptors, "Open descriptors of the agent.")
        }
        text.add(.counter, "cpu_seconds_total", processorSeconds, "CPU time that the agent used.")
    }

    /// The second number in /proc/self/statm, in pages.
    private static func readResidentBytes() -> UInt64? {
        guard let file = try? SharedDescriptor(opening: "/proc/self/statm", flags: O_RDONLY) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        let numbers = String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: " ")
        guard numbers.count > 1, let pages = UInt64(numbers[1]) else { return nil }
        return pages * UInt64(max(0, sysconf(Int32(_SC_PAGESIZE))))
    }

    /// Number of entries in /proc/self/fd, without the descriptor that reads them.
    private static func countDescriptors() -> Int? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            if entry.pointee.d_name.0 != CChar(bitPattern: UInt8(ascii: ".")) { count += 1 }
        }
        return count - 1
    }
}
