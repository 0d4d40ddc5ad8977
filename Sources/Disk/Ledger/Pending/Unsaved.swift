package import UploadCore

/// Changes whose commits are not durable yet. Until they are, reads from the ledger return older values.
package struct Unsaved: Sendable {
    private var drops = PathMap<(commit: UInt64, record: DropRecord?)>()
    /// The paths in `drops` by content.
    private var pathsByKey: [ContentKey: Set<RelativePath>] = [:]
    private var confirmations: [ContentKey: (commit: UInt64, confirmation: Confirmation)] = [:]
    private var products: [ContentKey: (commit: UInt64, record: ProductRecord)] = [:]
    private var changedUploads: [ContentKey: (commit: UInt64, record: UploadRecord?)] = [:]
    private var lastCommit: UInt64 = 0

    /// Creates a value without changes.
    package init() {}

    /// Begins a commit.
    ///
    /// - Returns: the number of the commit.
    package mutating func begin() -> UInt64 {
        lastCommit += 1
        return lastCommit
    }

    /// Adds changes to a commit. They replace those of earlier commits.
    package mutating func add(_ writes: [LedgerWrite], to commit: UInt64) {
        for write in writes {
            switch write {
            case .drop(let record): change(record.path, to: (commit, record))
            case .forgetDrop(let path): change(path, to: (commit, nil))
            case .confirmation(let confirmation): confirmations[confirmation.key] = (commit, confirmation)
            case .product(let record): products[record.product.original] = (commit, record)
            case .upload(let record): changedUploads[record.key] = (commit, record)
            case .forgetUpload(let key), .park(let key): changedUploads[key] = (commit, nil)
            default: break
            }
        }
    }

    /// Removes changes that are durable now, except those that a later commit changed again.
    package mutating func saved(_ writes: [LedgerWrite], by commit: UInt64) {
        for write in writes {
            switch write {
            case .drop(let record): if drops[record.path]?.commit == commit { change(record.path, to: nil) }
            case .forgetDrop(let path): if drops[path]?.commit == commit { change(path, to: nil) }
            case .confirmation(let record):
                if confirmations[record.key]?.commit == commit { confirmations[record.key] = nil }
            case .product(let record):
                let key = record.product.original
                if products[key]?.commit == commit { products[key] = nil }
            case .upload(let record):
                if changedUploads[record.key]?.commit == commit { changedUploads[record.key] = nil }
            case .forgetUpload(let key), .park(let key):
                if changedUploads[key]?.commit == commit { changedUploads[key] = nil }
            default: break
            }
        }
    }

    private mutating func change(_ path: RelativePath, to change: (commit: UInt64, record: DropRecord?)?) {
        if let key = drops[path]?.record?.key {
            pathsByKey[key]?.remove(path)
            if pathsByKey[key]?.isEmpty == true { pathsByKey[key] = nil }
        }
        drops[path] = change
        if let key = change?.record?.key { pathsByKey[key, default: []].insert(path) }
    }

    /// Whether the ledger's record of a path is out of date.
    package func covers(_ path: RelativePath) -> Bool { drops[path] != nil }

    /// Returns the record of a covered path; `nil` if the path is being forgotten.
    package func drop(at path: RelativePath) -> DropRecord? { drops[path]?.record }

    /// Returns the paths that are being stored with a content.
    package func paths(of key: ContentKey) -> Set<RelativePath> { pathsByKey[key] ?? [] }

    /// All records that are being stored, in no particular order.
    package var records: [DropRecord] { drops.values.compactMap(\.record) }

    /// Returns the records that are being stored for a path and everything below it.
    package func records(within directory: RelativePath) -> [DropRecord] {
        drops.paths(within: directory).compactMap { drops[$0]?.record }
    }

    /// Paths that are being forgotten.
    package var forgotten: [RelativePath] { drops.filter { $0.value.record == nil }.map(\.key) }

    /// Returns a confirmation of a content that is being stored.
    package func confirmation(of key: ContentKey) -> Confirmation? { confirmations[key]?.confirmation }

    /// Returns what a recipe made of a content, while the ledger stores it.
    package func product(of original: ContentKey) -> ProductRecord? { products[original]?.record }

    /// Returns the change of an upload that is being stored: its record, or `nil` if it is being forgotten. No change if
    /// the ledger is up to date.
    package func upload(of key: ContentKey) -> UploadRecord?? { changedUploads[key].map(\.record) }

    /// The uploads that are being stored, in no particular order.
    package var uploads: [UploadRecord] { changedUploads.values.compactMap(\.record) }
}
