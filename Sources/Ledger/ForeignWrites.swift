import LinuxSystem
import Synchronization
import SystemPackage

/// Notices that something else than this ledger removed, replaced or changed its file while it is open.
///
/// LMDB maps the file and takes its pages at their word. Only the owner of the state directory writes to it, so a
/// modification time that no commit explains is a reason to read the whole file.
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

    /// Looks after the file at `path`.
    init(path: String) {
        file = LedgerFile(path: path)
    }

    /// Records the file as it is now: the ledger itself wrote to it.
    func accept() {
        guard let status = try? FileStatus(path: file.path) else { return }
        last.withLock { $0 = Mark(status) }
    }

    /// What is wrong with the file, in one phrase; nil where nothing is.
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
            case .damaged(let reason): return "something else wrote to \(file.path) while the agent ran: \(reason)"
            case .sound:
                last.withLock { $0 = found }
                return nil
            }
        } catch {
            return "\(error)"
        }
    }
}
