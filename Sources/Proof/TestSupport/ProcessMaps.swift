import Glibc

/// The memory mappings of this process (man 5 proc_pid_smaps).
public enum ProcessMaps {
    /// Returns how many KiB of the mapping that begins at an address are present; `nil` if no mapping begins there.
    public static func presentKiB(at start: UInt) -> Int? {
        guard let file = fopen("/proc/self/smaps", "re") else { return nil }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(line) }
        let beginning = String(start, radix: 16) + "-"
        var isMapping = false
        while getline(&line, &size, file) > 0 {
            let words = line.map { String(cString: $0).split(separator: " ") } ?? []
            if words.first?.hasPrefix(beginning) == true { isMapping = true }
            if isMapping, words.first == "Rss:" { return words.count > 1 ? Int(words[1]) : nil }
        }
        return nil
    }
}
