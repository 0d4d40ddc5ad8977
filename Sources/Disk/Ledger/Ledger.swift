import Glibc
import LinuxSystem
public import Logging
import SystemPackage
public import UploadCore

/// The persistent state in one LMDB file: paths, contents, uploads and confirmations.
///
/// Reads are synchronous and short, and see the last commit. Reads may wait for the disk, so they must not run on the
/// cooperative pool. Writes are queued to one thread, which makes them durable in order and in batches. The ledger
/// caches nothing itself: LMDB's pages are the kernel's page cache.
///
/// A ledger has one owner; the lock in the state directory excludes other processes.
public final class Ledger: Sendable {
    let environment: Environment
    let drops: DropTable
    let damage: DamageNotes
    let writer: LedgerWriter

    /// Address space reserved for the file in bytes, so that the map need not grow under readers. If the process's
    /// address space is limited, a quarter of the limit, since threads and heap need the rest.
    static var mapSize: Int {
        let usual = Int.bitWidth == 64 ? 64 << 30 : 512 << 20
        return processLimit(.addressSpace).map { min(usual, Int(clamping: $0 / 4)) } ?? usual
    }

    /// Opens or creates `<directory>/ledger.lmdb` with mode 0600, and creates a missing directory with mode 0700.
    ///
    /// - Parameters:
    ///   - directory: the state directory; its parent must exist.
    ///   - logger: receives problems with the file.
    ///   - onTrouble: called on any thread when changes cannot be made durable, and with nil once they can again. A
    ///     refused change is reported but not rolled back.
    /// - Throws: `cutFile`, `notALedger`, `newerSchema`, `damagedRecord`, `unreadable` or `storage`; see
    ///   `LedgerError.isDamage`.
    public convenience init(
        directory: String, logger: Logger, onTrouble: @escaping @Sendable (LedgerTrouble?) -> Void
    ) throws(LedgerError) {
        try self.init(
            directory: directory, logger: logger, mapSize: Self.mapSize, drops: DropTable(), onTrouble: onTrouble)
    }

    init(
        directory: String, logger: Logger, mapSize: Int, drops: DropTable,
        onTrouble: @escaping @Sendable (LedgerTrouble?) -> Void
    ) throws(LedgerError) {
        let path = "\(directory)/ledger.lmdb"
        try Self.checkFile(path, in: directory)
        do throws(LMDBError) {
            environment = try Environment(
                path: path, tables: LedgerTable.allCases.map(\.rawValue), mapSize: mapSize)
        } catch {
            throw .storage(error)
        }
        try LedgerSchema.prepare(environment, newSecret: try LedgerSchema.randomSecret())
        self.drops = drops
        damage = DamageNotes(logger: logger)
        writer = LedgerWriter(
            environment: environment, directory: directory, drops: drops, logger: logger, onTrouble: onTrouble)
        writer.start()
    }

    deinit {
        writer.close()
    }

    /// Queues changes, which become durable together or not at all.
    ///
    /// - Parameters:
    ///   - writes: applied in order; an empty list waits for the changes queued before.
    ///   - isPatient: whether the changes may wait for other commits, half a second at most. Nothing should wait for them.
    ///   - done: runs on the writer's thread once these changes and all queued before are durable. Never called after
    ///     `close`, or for changes that no table can hold (a name over 511 bytes).
    public func commit(_ writes: [LedgerWrite], isPatient: Bool = false, done: @escaping @Sendable () -> Void) {
        writer.add(PendingCommit(writes: writes, isPatient: isPatient) { isDurable in if isDurable { done() } })
    }

    /// Queues changes and waits until these changes and all queued before are durable.
    ///
    /// - Returns: false if the changes never will be durable: after `close`, or for changes that no table can hold.
    @discardableResult
    public func commit(_ writes: [LedgerWrite]) async -> Bool {
        await withCheckedContinuation { continuation in
            writer.add(PendingCommit(writes: writes) { continuation.resume(returning: $0) })
        }
    }

    /// Makes the queued changes durable, as far as the disk accepts them, and closes the file. Blocks until the file
    /// is closed, except on the writer's thread.
    public func close() {
        writer.close()
    }

    private static func checkFile(_ path: String, in directory: String) throws(LedgerError) {
        let problem: MetaPages.Problem?
        do throws(Errno) {
            do throws(Errno) {
                try retryingOnInterrupt { mkdir(directory, 0o700) }
            } catch Errno.fileExists {}
            problem = try MetaPages.problem(of: path)
        } catch {
            throw .unreadable(path: path, reason: "\(error)")
        }
        switch problem {
        case nil: return
        case .foreign: throw .notALedger(path: path)
        case .cut(let size, let needed): throw .cutFile(path: path, size: size, needed: needed)
        }
    }
}
