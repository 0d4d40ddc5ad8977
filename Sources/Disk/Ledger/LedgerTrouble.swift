import Glibc
import Logging
import Synchronization

/// Why changes cannot be made durable at the moment. The writer loses no change and retries until it succeeds.
public struct LedgerTrouble: Hashable, Sendable, CustomStringConvertible {
    /// The kinds of trouble, each with a different remedy.
    public enum Kind: String, Sendable {
        /// The file system, or the user's quota on it, is full.
        case diskFull = "disk_full"
        /// The disk reports errors.
        case inputOutput = "input_output"
        /// The map cannot get more address space.
        case mapFull = "map_full"
        /// LMDB found inconsistent pages: inspect the file before the next start.
        case damaged
        /// A change that can never be stored was left out: an error in the program.
        case refusedChange = "refused_change"
        /// Any other reason.
        case other
    }

    /// The kind of trouble.
    public let kind: Kind
    /// The failure and its reason.
    public let message: String

    /// Instructions for the user.
    public var remedy: String {
        switch kind {
        case .diskFull: "free space on the file system of the state directory, or raise the quota"
        case .inputOutput: "check the disk that holds the state directory (see the kernel's log)"
        case .mapFull: "raise the address space limit (ulimit -v) and restart"
        case .damaged: "restart the agent: it checks the ledger, and rebuilds it or starts a new one"
        case .refusedChange: "please report this as a bug"
        case .other: "correct the cause that the message names; the agent keeps retrying"
        }
    }

    /// Message and remedy on one line.
    public var description: String { "\(message); \(remedy)" }

    init(_ error: LMDBError, directory: String) {
        message = "the ledger cannot be written: \(error)"
        kind =
            switch error.code {
            case ENOSPC, EDQUOT, EFBIG: .diskFull
            // LMDB reports a write cut short by a full disk as EIO.
            case EIO: Self.isFull(directory) ? .diskFull : .inputOutput
            case MDBCode.mapFull, ENOMEM: .mapFull
            default: error.isDamage ? .damaged : .other
            }
    }

    init(damage reason: String) {
        kind = .damaged
        message = reason
    }

    init(refused error: LMDBError) {
        kind = .refusedChange
        message = "a change was skipped because it cannot be stored: \(error)"
    }

    private static func isFull(_ directory: String) -> Bool {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return false }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize) < 1 << 20
    }
}

extension ForeignWrites {
    /// Inspects the file if another program changed it. Returns the fault as one phrase; nil if the ledger can go on.
    func fault() -> String? {
        switch change() {
        case nil: return nil
        case .removed: return "\(path) was removed while the agent ran"
        case .replaced: return "another file took the place of \(path) while the agent ran"
        case .written(let mark):
            do throws(LedgerError) {
                switch try LedgerFile(path: path).inspect() {
                case .missing: return "\(path) was emptied while the agent ran"
                case .damaged(let reason): return "another program wrote to \(path) while the agent ran: \(reason)"
                case .sound:
                    accept(mark)
                    return nil
                }
            } catch {
                return "\(error)"
            }
        }
    }
}

/// Counts damaged records and logs the first one.
final class DamageNotes: Sendable {
    private let logger: Logger
    private let noted = Mutex(0)

    init(logger: Logger) {
        self.logger = logger
    }

    var count: Int { noted.withLock(\.self) }

    func note(_ error: LedgerError) {
        let isFirst = noted.withLock { count in
            count += 1
            return count == 1
        }
        guard isFirst else { return }
        logger.error(
            "a record of the ledger is damaged and ignored; the agent looks at the file and the server again",
            metadata: [
                "reason": "\(error)", "remedy": "check the disk, then restart the agent, which rebuilds the ledger",
            ])
    }
}
