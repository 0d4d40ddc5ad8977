import UploadCore

/// Uploads of accounts that are not signed in. They keep their progress, and are dropped when no path waits for them
/// any more. The server's part of dropped uploads is deleted once their account is back.
struct ParkedUploads: Sendable {
    /// An upload set aside with its progress.
    struct Entry: Sendable {
        var record: UploadRecord
        var acknowledged: FragmentSet
    }

    private struct Name: Hashable {
        var key: ContentKey
        var account: String
    }

    private var entries: [Name: Entry] = [:]
    private var waiters: [Name: Set<RelativePath>] = [:]
    private var names: [RelativePath: Name] = [:]

    /// Whether no path waits for its account.
    var isEmpty: Bool { names.isEmpty }

    /// Adds a path that waits for its account.
    mutating func add(_ record: DropRecord, of account: String) {
        guard let key = record.key else { return }
        let name = Name(key: key, account: account)
        names[record.path] = name
        waiters[name, default: []].insert(record.path)
    }

    /// Adds an upload that was set aside.
    ///
    /// - Returns: whether a path waits for the upload.
    mutating func add(_ entry: Entry) -> Bool {
        let name = Name(key: entry.record.key, account: entry.record.scope.account)
        guard waiters[name] != nil else { return false }
        entries[name] = entry
        return true
    }

    /// Whether a path of an absent account waits for this content.
    func isWanted(_ key: ContentKey) -> Bool { waiters.keys.contains { $0.key == key } }

    /// Returns the progress of the upload that a path waits for; `nil` if the upload has not begun.
    func entry(for path: RelativePath) -> Entry? { names[path].flatMap { entries[$0] } }

    /// Follows removals and renames of paths.
    ///
    /// - Returns: changes for the ledger.
    mutating func take(_ event: MachineEvent) -> [LedgerWrite] {
        switch event {
        case .leave(let path, let key) where names[path]?.key == key: return leave(path)
        case .rename(let old, let new, let key) where names[old]?.key == key:
            if let name = names.removeValue(forKey: old) {
                waiters[name]?.remove(old)
                waiters[name]?.insert(new)
                names[new] = name
            }
            return []
        default: return []
        }
    }

    private mutating func leave(_ path: RelativePath) -> [LedgerWrite] {
        guard let name = names.removeValue(forKey: path) else { return [] }
        waiters[name]?.remove(path)
        guard waiters[name]?.isEmpty == true else { return [] }
        waiters[name] = nil
        guard let record = entries.removeValue(forKey: name)?.record else { return [] }
        var writes = [LedgerWrite.forgetParked(record.key, record.scope)]
        if let handle = record.handle { writes.append(.removal(handle, record.scope)) }
        return writes
    }
}
