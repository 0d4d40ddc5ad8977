import UploadCore

/// Changes whose commits are not durable yet. Until they are, reads from the ledger return older values.
struct Unsaved: Sendable {
    private var drops = PathMap<(commit: UInt64, record: DropRecord?)>()
    private var confirmations: [ContentKey: (commit: UInt64, confirmation: Confirmation)] = [:]
    private var lastCommit: UInt64 = 0

    /// Adds the changes of a commit that just began.
    ///
    /// - Returns: the number of the commit.
    mutating func add(_ writes: [LedgerWrite]) -> UInt64 {
        lastCommit += 1
        for write in writes {
            switch write {
            case .drop(let record): drops[record.path] = (lastCommit, record)
            case .forgetDrop(let path): drops[path] = (lastCommit, nil)
            case .confirmation(let confirmation): confirmations[confirmation.key] = (lastCommit, confirmation)
            default: break
            }
        }
        return lastCommit
    }

    /// Removes changes that are durable now, except those that a later commit changed again.
    mutating func saved(_ writes: [LedgerWrite], by commit: UInt64) {
        for write in writes {
            switch write {
            case .drop(let record): if drops[record.path]?.commit == commit { drops[record.path] = nil }
            case .forgetDrop(let path): if drops[path]?.commit == commit { drops[path] = nil }
            case .confirmation(let record):
                if confirmations[record.key]?.commit == commit { confirmations[record.key] = nil }
            default: break
            }
        }
    }

    /// Whether the ledger's record of a path is out of date.
    func covers(_ path: RelativePath) -> Bool { drops[path] != nil }

    /// Returns the record of a covered path; `nil` if the path is being forgotten.
    func drop(at path: RelativePath) -> DropRecord? { drops[path]?.record }

    /// Returns the paths that are being stored with a content.
    func paths(of key: ContentKey) -> [RelativePath] {
        drops.values.compactMap { $0.record?.key == key ? $0.record?.path : nil }
    }

    /// All records that are being stored, in no particular order.
    var records: [DropRecord] { drops.values.compactMap(\.record) }

    /// Returns the records that are being stored for a path and everything below it.
    func records(within directory: RelativePath) -> [DropRecord] {
        drops.paths(within: directory).compactMap { drops[$0]?.record }
    }

    /// Paths that are being forgotten.
    var forgotten: [RelativePath] { drops.filter { $0.value.record == nil }.map(\.key) }

    /// Returns a confirmation of a content that is being stored.
    func confirmation(of key: ContentKey) -> Confirmation? { confirmations[key]?.confirmation }
}
