import CLMDB
import Glibc

/// A call into LMDB that failed.
public struct LMDBError: Error, Hashable, Sendable, CustomStringConvertible {
    /// LMDB's own code (negative), or an errno value (positive).
    public let code: Int32
    /// The C function that failed, for instance `mdb_put`.
    public let operation: String
    /// The file or table of the call.
    public let context: String

    init(code: Int32, operation: String, context: String) {
        self.code = code
        self.operation = operation
        self.context = context
    }

    /// LMDB's text for the code (`mdb_strerror`).
    public var message: String { String(cString: mdb_strerror(code)) }

    /// The operation, its file or table, and the reason, on one line.
    public var description: String { "\(operation) (\(context)): \(message)" }

    static func check(_ code: Int32, _ operation: StaticString, _ context: @autoclosure () -> String) throws(LMDBError)
    {
        if code != MDB_SUCCESS {
            throw LMDBError(code: code, operation: "\(operation)", context: context())
        }
    }
}

/// The LMDB codes that the ledger handles, so that other files need not import CLMDB.
enum MDBCode {
    static let mapFull: Int32 = MDB_MAP_FULL
    static let transactionFull: Int32 = MDB_TXN_FULL
    static let panic: Int32 = MDB_PANIC
    static let badValueSize: Int32 = MDB_BAD_VALSIZE
    /// LMDB's codes for inconsistent pages, at opening or later.
    static let damage: Set<Int32> = [
        MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_CURSOR_FULL, MDB_INVALID, MDB_PAGE_FULL,
        // mdb_cursor_init ignores the error of its table look-up; the next call returns BAD_TXN. LMDB reports a
        // missing or invalid entry of a table with the other two codes.
        MDB_BAD_TXN, MDB_BAD_DBI, MDB_INCOMPATIBLE,
        // The last page lies beyond the map. The agent enlarges its map before the file grows, and no other process
        // makes the file outgrow it.
        MDB_MAP_RESIZED,
        // These concern the reader table in the lock file; the agent's few threads never fill the table.
        MDB_READERS_FULL, MDB_BAD_RSLOT,
    ]
}

extension LMDBError {
    /// Whether the environment was closed before the call.
    var isClosed: Bool { code == EBADF && operation == "mdb_txn_begin" }

    /// Whether the file or its lock file differs from what LMDB wrote.
    ///
    /// EINVAL at the start of a transaction means an invalid mutex in the lock file (man 3 pthread_mutex_lock).
    public var isDamage: Bool { MDBCode.damage.contains(code) || (code == EINVAL && operation == "mdb_txn_begin") }
}
