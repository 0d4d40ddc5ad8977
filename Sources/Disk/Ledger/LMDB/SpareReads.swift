import CLMDB
import Synchronization

/// Read transactions for the next readers. "mdb_txn_renew() may reuse the handle. This saves allocation overhead …, and also
/// locking overhead if MDB_NOTLS is in use" (lmdb.h, `mdb_txn_reset`).
///
/// A reset transaction holds no snapshot, only its slot in the table of readers.
final class SpareReads: Sendable {
    private struct Handle: @unchecked Sendable {
        // Unchecked: the list, or the reader that took the handle, is its only owner.
        let transaction: OpaquePointer
    }

    private static let most = 4
    private let handles = Mutex<[Handle]>([])

    /// Removes and returns a reset transaction, which must be renewed; nil if there is none.
    func take() -> OpaquePointer? { handles.withLock { $0.popLast() }?.transaction }

    /// Ends a read transaction. Keeps it for the next reader, unless there are enough.
    func end(_ transaction: OpaquePointer) {
        let handle = Handle(transaction: transaction)
        let isKept = handles.withLock { handles in
            guard handles.count < Self.most else { return false }
            mdb_txn_reset(handle.transaction)
            handles.append(handle)
            return true
        }
        if !isKept { mdb_txn_abort(transaction) }
    }

    /// Frees all transactions. Must be called before the environment moves its map or closes.
    func free() {
        let all = handles.withLock { handles in
            defer { handles = [] }
            return handles
        }
        for handle in all { mdb_txn_abort(handle.transaction) }
    }
}
