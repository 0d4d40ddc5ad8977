import Intake
import Ledger
import Sidecars
import UploadCore

/// The answers to the questions of the path book about paths. The book asks several times an event, mostly about one path,
/// and nothing changes meanwhile.
struct PathAnswers {
    var record: (path: RelativePath, record: DropRecord?)?
    /// The names of directories.
    var names: [RelativePath: Set<[UInt8]>] = [:]
}

// Answers the questions of the path book from disk, ledger and upload machine. The book asks while it changes, so nothing
// here may read the book.
extension AgentCore: PathFacts {
    /// Has the path book work, and keeps the answers to its questions until then.
    func ask<Result>(_ work: (inout PathBook) -> Result) -> Result {
        answers = PathAnswers()
        defer { answers = nil }
        return work(&book)
    }

    func look(at path: RelativePath) -> FileLook { sources.files.look(at: path) }

    func isListed(_ path: RelativePath) -> Bool {
        if path == .root { return true }
        guard isListed(path.parent) else { return false }
        let known = answers?.names[path.parent] ?? sources.files.names(in: path.parent)
        answers?.names[path.parent] = known
        return known?.contains(Array(path.name)) ?? true
    }

    // MARK: The ledger

    func storedRecord(of path: RelativePath) -> DropRecord? {
        stored.asked { () throws(LedgerError) in try read(path) }
    }

    private func read(_ path: RelativePath) throws(LedgerError) -> DropRecord? {
        if let last = answers?.record, last.path == path { return last.record }
        let record = try stored.read(path)
        answers?.record = (path, record)
        return record
    }

    func forEachStoredRecord(within directory: RelativePath, _ body: (DropRecord) -> Void) {
        stored.forEachRecord(within: directory, body)
    }

    func forEachRecordNeededAtStart(_ body: (DropRecord) -> Void) { stored.forEachRecordNeededAtStart(body) }

    func anyStoredRecord(of key: ContentKey) -> DropRecord? {
        stored.asked { () throws(LedgerError) in try stored.anyRecord(of: key) }
    }

    func storedRecords(of key: ContentKey, atMost count: Int) -> [DropRecord] {
        stored.asked { () throws(LedgerError) in try stored.records(of: key, atMost: count) } ?? []
    }

    func confirmation(of key: ContentKey) -> Confirmation? { stored.confirmation(of: key) }

    func canAnswer(about path: RelativePath, _ key: ContentKey?) -> Bool {
        stored.asked { () throws(LedgerError) in
            _ = try read(path)
            guard let key else { return true }
            if stored.unsaved.confirmation(of: key) == nil {
                _ = try stored.ledger.confirmation(of: key, scope: stored.scope)
            }
            if hasBacklog, !isHeld(key) { _ = try stored.upload(of: key) }
            return true
        } ?? false
    }

    // MARK: Sidecars

    func sidecarWish(of path: RelativePath) -> SidecarWish? {
        guard let (word, written) = sources.sidecars.lastWord(of: .file(path)) else { return nil }
        if word.isCancelledByUser { return .cancelled(size: word.size, written: written) }
        return word.fileState == .paused && !wasHeldByPost(path) ? .paused : nil
    }

    /// Whether the post may be the reason for the state `paused` in the file's sidecar.
    private func wasHeldByPost(_ path: RelativePath) -> Bool {
        var directory = path.parent
        while !directory.bytes.isEmpty {
            if let word = sources.sidecars.lastWord(of: .source(directory))?.word {
                return ["draft", "paused", "done"].contains(word.state)
            }
            directory = directory.parent
        }
        return false
    }

    // MARK: Uploads

    var hasBacklog: Bool { machine.hasBacklog }
    func isHeld(_ key: ContentKey) -> Bool { machine.holds(key) }
    func hasUpload(of key: ContentKey) -> Bool { isHeld(key) || isInBacklog(key) }

    func waiters(of key: ContentKey) -> [RelativePath] {
        guard isInBacklog(key) else { return machine.waiters(of: key) }
        let records = stored.asked { () throws(LedgerError) in try stored.records(of: key) } ?? []
        return records.filter { waitsInBacklog($0) }.map(\.path)
    }

    func isWaiting(_ path: RelativePath, for key: ContentKey) -> Bool { isPaused(path, for: key) != nil }

    /// Whether the path waits paused for the upload of a content; `nil` if it does not wait for it.
    func isPaused(_ path: RelativePath, for key: ContentKey) -> Bool? {
        if isHeld(key) { return machine.isPaused(path, of: key) }
        guard isInBacklog(key), let record = storedRecord(of: path), record.key == key, waitsInBacklog(record) else {
            return nil
        }
        return record.state == .paused
    }

    var isAllPaused: Bool { machine.isPaused }
    var isSignedOut: Bool { machine.signedOut != nil }

    /// Whether only the ledger holds the upload of a content.
    private func isInBacklog(_ key: ContentKey) -> Bool {
        stored.asked { () throws(LedgerError) in try isInBacklog(unlessUnreadable: key) } ?? false
    }

    private func isInBacklog(unlessUnreadable key: ContentKey) throws(LedgerError) -> Bool {
        guard hasBacklog, !isHeld(key) else { return false }
        return try stored.upload(of: key) != nil
    }

    /// Whether a content is to be uploaded.
    func needsUpload(of key: ContentKey) throws(LedgerError) -> Bool {
        if isHeld(key) { return true }
        return try isInBacklog(unlessUnreadable: key)
    }

    private func waitsInBacklog(_ record: DropRecord) -> Bool {
        !record.state.isFinal && portraitFolder.map { !record.path.isWithin($0) } ?? true
    }
}
