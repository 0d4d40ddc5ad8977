import CLMDB
import Glibc
import LinuxSystem
import Synchronization

/// One LMDB file and its tables, mapped into memory.
///
/// Durable on return: opened without MDB_NOSYNC, MDB_NOMETASYNC, MDB_WRITEMAP and MDB_NOLOCK. With MDB_NOTLS, "a
/// read-only transaction may span threads" and reader slots belong to transactions instead of threads.
final class Environment: @unchecked Sendable {
    // Unchecked: `handle`, `failure`, `handles` and `mapSize` change only with `gate` held for writing, and are read
    // only with `gate` held at least for reading. Threads may share LMDB's own handles.
    private let gate: UnsafeMutablePointer<pthread_rwlock_t>
    private var handle: OpaquePointer?
    /// Why opening failed; nil after a successful opening or a close.
    private var failure: LMDBError?
    private var handles: [MDB_dbi] = []
    private var mapSize: Int
    private let path: String
    /// Distinguishes this environment's writes from those of other programs.
    let foreignWrites: ForeignWrites
    /// The tables, in the order of the names passed to `init`.
    let tables: [Table]
    private let writer = Atomic<UInt>(0)
    private let spareReads = SpareReads()
    let mapped = MappedPages()

    /// Bytes of hole after the last page in use: see `keepFileAhead`.
    private static let fileSlack = 4 << 20
    private static let smallestMap = 64 << 20

    /// Opens or creates the file, which must not be open in this process already ("Do not have open an LMDB database
    /// twice in the same process at the same time", lmdb.h: closing one environment would drop the other's locks).
    ///
    /// - Parameter mapSize: address space to reserve, in bytes; halved until the process's limits allow it, down to 64 MiB.
    init(path: String, tables names: [String], mapSize: Int) throws(LMDBError) {
        self.path = path
        foreignWrites = ForeignWrites(path: path)
        self.mapSize = max(mapSize, Self.smallestMap)
        tables = names.enumerated().map { Table(index: $0.offset, name: $0.element) }
        gate = .allocate(capacity: 1)
        pthread_rwlock_init(gate, nil)
        while true {
            do throws(LMDBError) {
                try open()
                return
            } catch {
                if error.code != ENOMEM || self.mapSize <= Self.smallestMap { throw error }
                self.mapSize /= 2
            }
        }
    }

    deinit {
        close()
        pthread_rwlock_destroy(gate)
        gate.deallocate()
    }

    /// Runs `body` on a consistent view of the tables. Blocks only while the map grows or the file is reopened.
    ///
    /// Keep `body` short: "Avoid long-lived transactions. Read transactions prevent reuse of pages freed by newer
    /// write transactions, thus the database can grow quickly" (lmdb.h).
    func read<Result>(
        _ body: (borrowing ReadTransaction) throws(LMDBError) -> Result
    ) throws(LMDBError) -> Result {
        do throws(LMDBError) {
            return try readOnce(body)
        } catch {
            // Only mdb_txn_begin and mdb_txn_renew answer MDB_PANIC, so `body` has not run.
            guard error.code == MDBCode.panic else { throw error }
        }
        try leavePanic()
        return try readOnce(body)
    }

    private func readOnce<Result>(
        _ body: (borrowing ReadTransaction) throws(LMDBError) -> Result
    ) throws(LMDBError) -> Result {
        pthread_rwlock_rdlock(gate)
        defer { pthread_rwlock_unlock(gate) }
        let transaction = reading(try beginRead())
        defer { spareReads.end(transaction.handle) }
        return try body(transaction)
    }

    private func beginRead() throws(LMDBError) -> OpaquePointer {
        guard let handle = spareReads.take() else { return try begin(flags: UInt32(MDB_RDONLY)) }
        let code = mdb_txn_renew(handle)
        if code != MDB_SUCCESS { mdb_txn_abort(handle) }
        try LMDBError.check(code, "mdb_txn_renew", path)
        return handle
    }

    /// Runs `body` in the write transaction. On return, the changes are on the disk; an error rolls them all back.
    ///
    /// - Throws: errors of `body` and of LMDB, and EDEADLK for a write inside a write: "A thread may only have one
    ///   write transaction at a time" (lmdb.h). The second one would deadlock.
    func write<Result>(
        _ body: (borrowing WriteTransaction) throws(LMDBError) -> Result
    ) throws(LMDBError) -> Result {
        try refuseInsideWrite()
        pthread_rwlock_rdlock(gate)
        defer { pthread_rwlock_unlock(gate) }
        let handle = try begin(flags: 0)
        writer.store(UInt(pthread_self()), ordering: .relaxed)
        defer {
            // A failed write may have changed the file as well.
            foreignWrites.accept()
            writer.store(0, ordering: .relaxed)
        }
        let result: Result
        do throws(LMDBError) {
            result = try body(WriteTransaction(reading: reading(handle)))
        } catch {
            mdb_txn_abort(handle)
            throw error
        }
        // "The transaction handle is freed. It and its cursors must not be used again after this call" (lmdb.h). The
        // same holds after a failed commit.
        try LMDBError.check(mdb_txn_commit(handle), "mdb_txn_commit", path)
        try keepFileAhead()
        return result
    }

    /// Doubles the map once no transaction is open.
    ///
    /// "It may be called at later times if no transactions are active in this process. Note that the library does not
    /// check for this condition, the caller must ensure it explicitly" (lmdb.h, `mdb_env_set_mapsize`).
    func grow() throws(LMDBError) {
        try refuseInsideWrite()
        pthread_rwlock_wrlock(gate)
        defer { pthread_rwlock_unlock(gate) }
        let (doubled, overflow) = mapSize.multipliedReportingOverflow(by: 2)
        if overflow { throw LMDBError(code: ENOMEM, operation: "mdb_env_set_mapsize", context: path) }
        do throws(LMDBError) {
            let handle = try opened()
            spareReads.free()
            mapped.addresses = nil
            try LMDBError.check(mdb_env_set_mapsize(handle, doubled), "mdb_env_set_mapsize", path)
            mapSize = doubled
            try findMap()
        } catch {
            // A failed mmap leaves LMDB without any map: only reopening restores the old map.
            closeHandle()
            try openOrRemember()
            throw error
        }
    }

    /// Closes and reopens the file once no transaction is open: the way out of MDB_PANIC, "Update of meta page failed
    /// or environment had fatal error" (lmdb.h).
    func reopen() throws(LMDBError) {
        try refuseInsideWrite()
        pthread_rwlock_wrlock(gate)
        defer { pthread_rwlock_unlock(gate) }
        closeHandle()
        try openOrRemember()
    }

    /// Reopens the file after a commit whose meta page could not be written, unless another thread already did.
    ///
    /// LMDB refuses reads as well until then, although all that was committed before is sound. The writer reopens the
    /// file before its next attempt, which may be seconds away.
    private func leavePanic() throws(LMDBError) {
        try refuseInsideWrite()
        pthread_rwlock_wrlock(gate)
        defer { pthread_rwlock_unlock(gate) }
        do throws(LMDBError) {
            mdb_txn_abort(try begin(flags: UInt32(MDB_RDONLY)))
            return
        } catch {
            guard error.code == MDBCode.panic else { throw error }
        }
        closeHandle()
        try openOrRemember()
    }

    /// Returns LMDB's own description of the environment.
    func information() throws(LMDBError) -> MDB_envinfo {
        pthread_rwlock_rdlock(gate)
        defer { pthread_rwlock_unlock(gate) }
        var result = MDB_envinfo()
        mdb_env_info(try opened(), &result)
        return result
    }

    /// Whether the file is closed because reopening failed.
    var hasFailed: Bool {
        pthread_rwlock_rdlock(gate)
        defer { pthread_rwlock_unlock(gate) }
        return failure != nil
    }

    /// Closes the file once no transaction is open; later calls throw EBADF.
    func close() {
        pthread_rwlock_wrlock(gate)
        defer { pthread_rwlock_unlock(gate) }
        closeHandle()
        failure = nil
    }

    private func begin(flags: UInt32) throws(LMDBError) -> OpaquePointer {
        var transaction: OpaquePointer?
        try LMDBError.check(mdb_txn_begin(try opened(), nil, flags, &transaction), "mdb_txn_begin", path)
        guard let transaction else { throw LMDBError(code: EINVAL, operation: "mdb_txn_begin", context: path) }
        return transaction
    }

    private func opened() throws(LMDBError) -> OpaquePointer {
        guard let handle else { throw failure ?? LMDBError(code: EBADF, operation: "mdb_txn_begin", context: path) }
        return handle
    }

    private func refuseInsideWrite() throws(LMDBError) {
        if writer.load(ordering: .relaxed) == UInt(pthread_self()) {
            throw LMDBError(code: EDEADLK, operation: "mdb_txn_begin", context: path)
        }
    }

    /// Opens the file. If opening fails, every call throws the reason until a later attempt succeeds.
    private func openOrRemember() throws(LMDBError) {
        do throws(LMDBError) {
            try open()
            failure = nil
        } catch {
            failure = error
            throw error
        }
    }

    private func open() throws(LMDBError) {
        try LockFile.reserve("\(path)-lock")
        var created: OpaquePointer?
        try LMDBError.check(mdb_env_create(&created), "mdb_env_create", path)
        handle = created
        do throws(LMDBError) {
            try LMDBError.check(mdb_env_set_maxdbs(created, MDB_dbi(tables.count)), "mdb_env_set_maxdbs", path)
            try LMDBError.check(mdb_env_set_mapsize(created, mapSize), "mdb_env_set_mapsize", path)
            let flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS)
            try LMDBError.check(mdb_env_open(created, path, flags, 0o600), "mdb_env_open", path)
            // LMDB opens its files close-on-exec if the system can; its lock must never reach a child.
            var descriptor: Int32 = -1
            try LMDBError.check(mdb_env_get_fd(created, &descriptor), "mdb_env_get_fd", path)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            // A killed reader keeps its slot, which blocks reuse of every page freed since.
            try LMDBError.check(mdb_reader_check(created, nil), "mdb_reader_check", path)
            try openTables()
            try findMap()
            try keepFileAhead()
            foreignWrites.accept()
        } catch {
            // If opening fails, "mdb_env_close() must be called to discard the handle" (lmdb.h, `mdb_env_open`).
            closeHandle()
            throw error
        }
    }

    private func reading(_ transaction: OpaquePointer) -> ReadTransaction {
        ReadTransaction(handle: transaction, tables: handles, mapped: mapped)
    }

    /// Finds out where LMDB mapped the file, which LMDB tells only of fixed maps: around the names of the tables.
    ///
    /// LMDB moves the map only in `mdb_env_open`, `mdb_env_set_mapsize` and `mdb_env_close`.
    private func findMap() throws(LMDBError) {
        let transaction = try begin(flags: UInt32(MDB_RDONLY))
        defer { mdb_txn_abort(transaction) }
        // "FREE_DBI 0, MAIN_DBI 1" (mdb.c)
        let names = ReadTransaction(handle: transaction, tables: [1], mapped: mapped)
        var address: UnsafeRawPointer?
        try names.scan(Table(index: 0, name: "names of tables"), from: []) { name, _ in
            address = name.baseAddress
            return false
        }
        mapped.addresses = address.flatMap(FileMaps.readOnly)
    }

    private func openTables() throws(LMDBError) {
        // "The database handle will be private to the current transaction until the transaction is successfully
        // committed … this function must not be called from multiple concurrent transactions" (lmdb.h, `mdb_dbi_open`).
        let transaction = try begin(flags: 0)
        var opened: [MDB_dbi] = []
        for table in tables {
            var number = MDB_dbi()
            let code = mdb_dbi_open(transaction, table.name, UInt32(MDB_CREATE), &number)
            if code != MDB_SUCCESS { mdb_txn_abort(transaction) }
            try LMDBError.check(code, "mdb_dbi_open", table.name)
            opened.append(number)
        }
        try LMDBError.check(mdb_txn_commit(transaction), "mdb_txn_commit", path)
        handles = opened
    }

    /// Keeps the end of the file beyond the last page in use.
    ///
    /// LMDB never writes a page that one transaction both allocated and freed, not even the very last page. So a
    /// sound file may be shorter than its meta page says. With a hole at the end, a file shorter than that was
    /// truncated.
    private func keepFileAhead() throws(LMDBError) {
        let handle = try opened()
        var descriptor: Int32 = -1
        var information = MDB_envinfo()
        var pages = MDB_stat()
        try LMDBError.check(mdb_env_get_fd(handle, &descriptor), "mdb_env_get_fd", path)
        mdb_env_info(handle, &information)
        mdb_env_stat(handle, &pages)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return }
        let used = (information.me_last_pgno + 1) * Int(pages.ms_psize)
        // The commit holds even if the hole is impossible, for instance at a file size limit.
        if Int(status.st_size) < used + Self.fileSlack / 2 { _ = ftruncate(descriptor, off_t(used + Self.fileSlack)) }
    }

    private func closeHandle() {
        spareReads.free()
        mapped.addresses = nil
        if let handle { mdb_env_close(handle) }
        handle = nil
        handles = []
    }
}
