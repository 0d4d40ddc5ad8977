import LinuxSystem
import Synchronization

/// Limits how much of the ledger's file is mapped. The kernel maps 16 pages for each page that is read, so a second of
/// reading at random maps a file of any size as a whole.
final class PageLimit: Sendable {
    private let bytes: Int
    private let interval: Int
    private let uses = Atomic(0)

    /// - Parameters:
    ///   - bytes: bytes of files that the process may have mapped, its own program included.
    ///   - interval: number of uses between two looks at the process. Most uses map less than 1 MiB.
    init(bytes: Int = 32 << 20, interval: Int = 32) { (self.bytes, self.interval) = (bytes, interval) }

    /// Counts a record that was read or written.
    ///
    /// - Returns: whether to unmap the file's pages now.
    func isReachedAfterUse() -> Bool {
        guard uses.add(1, ordering: .relaxed).newValue.isMultiple(of: interval) else { return false }
        return Memory.mappedFileBytes().map { $0 > bytes } ?? false
    }
}
