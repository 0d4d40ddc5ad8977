import Glibc
import LinuxSystem
import SystemPackage

/// The files that this process has mapped into its memory (man 5 proc_pid_maps).
enum FileMaps {
    /// A range of addresses.
    struct Range: Equatable {
        var start: UnsafeMutableRawPointer?
        var length: Int
    }

    /// Returns where the process maps a file for reading only, and shares it.
    static func readOnly(ofFile number: UInt64) -> [Range] {
        guard let file = fopen("/proc/self/maps", "re") else { return [] }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(line) }
        var ranges: [Range] = []
        while getline(&line, &size, file) > 0 {
            if let line, let range = readOnly(ofFile: number, in: String(cString: line)) { ranges.append(range) }
        }
        return ranges
    }

    static func readOnly(ofFile number: UInt64, in line: String) -> Range? {
        let fields = line.split(separator: " ", maxSplits: 5)
        guard fields.count > 4, fields[1] == "r--s", UInt64(fields[4]) == number else { return nil }
        let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, ends[0] < ends[1] else { return nil }
        return Range(start: UnsafeMutableRawPointer(bitPattern: ends[0]), length: Int(ends[1] - ends[0]))
    }
}
