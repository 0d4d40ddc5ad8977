import Glibc
import LinuxSystem
import Synchronization
import SystemPackage

/// The pages of the ledger's file that are mapped into memory.
///
/// They belong to the page cache, but count as this process's memory (RSS), and the kernel maps 16 for each one that is
/// read. Without a limit, a second of work maps a ledger of a million paths as a whole.
final class MappedPages: @unchecked Sendable {
    // Unchecked: `addresses` changes only with the environment's gate held for writing, and is read only with the gate
    // held at least for reading.
    /// Where LMDB mapped the file; `nil` while the file is closed, or if the process can't find out.
    var addresses: UnsafeMutableRawBufferPointer?
    private let uses = Atomic(0)

    /// The number of uses between two times of unmapping. Most uses map one or two pages, and so at most 128 KiB.
    static let interval = 512

    /// Counts a record that is read or written. Unmaps all pages every ``interval`` uses (man 2 madvise, MADV_DONTNEED,
    /// which loses nothing of a file that is mapped for reading only). The next read maps its page again.
    func used() {
        guard uses.add(1, ordering: .relaxed).newValue.isMultiple(of: Self.interval), let addresses else { return }
        madvise(addresses.baseAddress, addresses.count, MADV_DONTNEED)
    }
}

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
