import Glibc
import LinuxSystem
import Synchronization

/// The pages of the ledger's file that are mapped into memory, and their limit. Mapped pages count as this process's memory.
///
/// Before Linux 6.7, the kernel maps 16 pages for each page that is read, so a second of reading at random maps a file of
/// any size as a whole. Newer kernels can be told to map one (`Memory.mapByPage`).
final class MappedPages: @unchecked Sendable {
    // Unchecked: `addresses` changes only with the environment's gate held for writing, and is read only with the gate
    // held at least for reading.
    /// Where LMDB mapped the file; `nil` while the file is closed, or if the process can't find out.
    var addresses: UnsafeMutableRawBufferPointer?
    private let interval: Int
    private let mappedBytes: @Sendable () -> Int?
    private let uses = Atomic(0)
    private let fileSize = Atomic(0)
    /// Mapped bytes of the program and of other files, when the ledger's pages were last unmapped.
    private let others = Atomic(0)

    /// - Parameters:
    ///   - interval: number of uses between two looks at the process. Most uses map at most 2 pages, or 32 where
    ///     the kernel maps 16 at a time; between two looks, that is 4 MiB.
    ///   - mappedBytes: returns how many bytes of files the process has mapped.
    init(
        interval: Int = (Memory.canMapByPage ? 2 << 20 : 128 << 10) / sysconf(Int32(_SC_PAGESIZE)),
        mappedBytes: @escaping @Sendable () -> Int? = Memory.mappedFileBytes
    ) {
        (self.interval, self.mappedBytes) = (interval, mappedBytes)
    }

    /// Returns how many bytes of a ledger's file may be mapped. A quarter of a large file spares many of the faults of
    /// random reading. Of a small file, less is mapped if the kernel maps single pages: then each of them has been read.
    static func limit(fileSize: Int, bySinglePage: Bool = Memory.canMapByPage) -> Int {
        min(max(fileSize / 4, bySinglePage ? 4 << 20 : 12 << 20), 64 << 20)
    }

    /// Records the present size of the file, in bytes.
    func fileHas(size: Int) { fileSize.store(size, ordering: .relaxed) }

    /// Counts a record that is read or written. Unmaps the pages if too many are mapped.
    func used() {
        guard uses.add(1, ordering: .relaxed).newValue.isMultiple(of: interval) else { return }
        let most = Self.limit(fileSize: fileSize.load(ordering: .relaxed)) + others.load(ordering: .relaxed)
        if let mapped = mappedBytes(), mapped > most { unmap() }
    }

    /// Unmaps all pages that were read (man 2 madvise, MADV_DONTNEED, which loses nothing of a file that is mapped for
    /// reading only). The page cache keeps them, and the next read maps them again.
    func unmap() {
        guard let addresses else { return }
        madvise(addresses.baseAddress, addresses.count, MADV_DONTNEED)
        others.store(mappedBytes() ?? 0, ordering: .relaxed)
    }
}
