import LinuxSystem
import Synchronization
import SystemPackage

/// Notices when another program removes, replaces or changes the ledger's file while the ledger is open.
///
/// LMDB maps the file and trusts its pages. Only the owner of the state directory writes to the file, so if no commit
/// explains the modification time, the agent must inspect the whole file.
final class ForeignWrites: Sendable {
    private struct Mark: Equatable {
        var device: UInt64
        var inode: UInt64
        var modified: Int64

        init(_ status: FileStatus) {
            device = status.device
            inode = status.inode
            modified = status.modified
        }
    }

    private let file: LedgerFile
    private let last = Mutex<Mark?>(nil)

    /// Monitors the file at `path`.
    init(path: String) {
        file = LedgerFile(path: path)
    }

    /// Records the file's present state, after the ledger itself wrote to the file.
    func accept() {
        guard let status = try? FileStatus(path: file.path) else { return }
        last.withLock { $0 = Mark(status) }
    }

    /// Returns the fault as one phrase; nil if the file is unchanged.
    func fault() -> String? {
        let status: FileStatus
        do throws(Errno) {
            status = try FileStatus(path: file.path)
        } catch {
            return error == .noSuchFileOrDirectory ? "\(file.path) was removed while the agent ran" : nil
        }
        let found = Mark(status)
        guard let known = last.withLock({ $0 }), found != known else { return nil }
        if found.inode != known.inode || found.device != known.device {
            return "another file took the place of \(file.path) while the agent ran"
        }
        do throws(LedgerError) {
            switch try file.inspect() {
            case .missing: return "\(file.path) was emptied while the agent ran"
            case .damaged(let reason): return "another program wrote to \(file.path) while the agent ran: \(reason)"
            case .sound:
                last.withLock { $0 = found }
                return nil
            }
        } catch {
            return "\(error)"
        }
    }
}
