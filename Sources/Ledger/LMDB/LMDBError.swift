import CLMDB
import Glibc

/// A call into LMDB that failed.
public struct LMDBError: Error, Hashable, Sendable, CustomStringConvertible {
    /// LMDB's own code (negative), or an errno value (positive).
    public let code: Int32
    /// The C function that failed, for instance `mdb_put`.
    public let operation: String
    /// What it worked on: a file or a table.
    public let context: String

    init(code: Int32, operation: String, context: String) {
        self.code = code
        self.operation = operation
        self.context = context
    }

    /// LMDB's text for the code (`mdb_strerror`).
    public var message: String { String(cString: mdb_strerror(code)) }

    /// The operation, what it worked on and why it failed, on one line.
    public var description: String { "\(operation) (\(context)): \(message)" }

    static func check(_ code: Int32, _ operation: StaticString, _ context: @autoclosure () -> String) throws(LMDBError)
    {
        if code != MDB_SUCCESS {
            throw LMDBError(code: code, operation: "\(operation)", context: context())
        }
    }
}

/// LMDB's codes that call for something else than giving up, so that CLMDB need not be imported elsewhere.
enum MDBCode {
    static let mapFull: Int32 = MDB_MAP_FULL
    static let transactionFull: Int32 = MDB_TXN_FULL
    static let panic: Int32 = MDB_PANIC
    static let badValueSize: Int32 = MDB_BAD_VALSIZE
    static let corrupted: Int32 = MDB_CORRUPTED
    /// What LMDB answers where it meets pages that make no sense, at opening or later.
    static let damage: Set<Int32> = [
        MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_CURSOR_FULL, MDB_INVALID, MDB_PAGE_FULL,
        // mdb_cursor_init passes over the error with which it looks a table up; the next call answers BAD_TXN. A table whose
        // entry is gone or makes no sense is answered with the others.
        MDB_BAD_TXN, MDB_BAD_DBI, MDB_INCOMPATIBLE,
        // Of the table of readers in the lock file, which a few threads never fill.
        MDB_READERS_FULL, MDB_BAD_RSLOT,
    ]
}

extension LMDBError {
    /// Whether the environment was closed before the call.
    var isClosed: Bool { code == EBADF && operation == "mdb_txn_begin" }

    /// Whether the file, or the lock file beside it, is not what LMDB wrote.
    ///
    /// A transaction that can't begin for EINVAL met a mutex in the lock file that is none (man 3 pthread_mutex_lock).
    public var isDamage: Bool { MDBCode.damage.contains(code) || (code == EINVAL && operation == "mdb_txn_begin") }
}
