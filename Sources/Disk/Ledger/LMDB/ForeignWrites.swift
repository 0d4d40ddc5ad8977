import LinuxSystem
import Synchronization
import SystemPackage

/// Notices when another program removes, replaces or changes the ledger's file while the ledger is open.
///
/// LMDB maps the file and trusts its pages. Only the owner of the state directory writes to the file, so if no commit
/// explains the modification time, the agent must inspect the whole file.
final class ForeignWrites: Sendable {
    /// The file at one moment.
    struct Mark: Equatable {
        fileprivate var device: UInt64
        fileprivate var inode: UInt64
        fileprivate var modified: Int64

        fileprivate init(_ status: FileStatus) {
            device = status.device
            inode = status.inode
            modified = status.modified
        }
    }

    /// What another program did to the file.
    enum Change {
        case removed
        /// Another file has its name.
        case replaced
        /// Its bytes may have changed; it looks like this now.
        case written(Mark)
    }

    let path: String
    private let last = Mutex<Mark?>(nil)

    /// Monitors the file at `path`.
    init(path: String) {
        self.path = path
    }

    /// Records the file's present state, after the ledger itself wrote to the file.
    func accept() {
        guard let status = try? FileStatus(path: path) else { return }
        last.withLock { $0 = Mark(status) }
    }

    /// Accepts the state of the file that `change` returned.
    func accept(_ mark: Mark) {
        last.withLock { $0 = mark }
    }

    /// Returns what happened to the file since it was accepted; nil if nothing did, or if the file can't be examined.
    func change() -> Change? {
        let found: Mark
        do throws(Errno) {
            found = Mark(try FileStatus(path: path))
        } catch {
            return error == .noSuchFileOrDirectory ? .removed : nil
        }
        guard let known = last.withLock({ $0 }), found != known else { return nil }
        return found.inode != known.inode || found.device != known.device ? .replaced : .written(found)
    }
}
