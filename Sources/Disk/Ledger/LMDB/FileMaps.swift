import Glibc
import LinuxSystem
import SystemPackage

/// The files that this process has mapped into its memory (man 5 proc_pid_maps).
enum FileMaps {
    /// Returns the addresses of the file mapping that holds an address; `nil` unless the process shares the file and
    /// maps it for reading only.
    static func readOnly(holding address: UnsafeRawPointer) -> UnsafeMutableRawBufferPointer? {
        guard let file = fopen("/proc/self/maps", "re") else { return nil }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(line) }
        while getline(&line, &size, file) > 0 {
            if let line, let found = readOnly(in: String(cString: line)), found.contains(UInt(bitPattern: address)) {
                let start = UnsafeMutableRawPointer(bitPattern: found.lowerBound)
                return UnsafeMutableRawBufferPointer(start: start, count: found.count)
            }
        }
        return nil
    }

    static func readOnly(in line: String) -> Range<UInt>? {
        let fields = line.split(separator: " ", maxSplits: 2)
        guard fields.count > 2, fields[1] == "r--s" else { return nil }
        let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, ends[0] < ends[1] else { return nil }
        return ends[0]..<ends[1]
    }
}
