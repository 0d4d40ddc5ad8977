import Intake
import Ledger
import LinuxSystem
import Sidecars
import Synchronization
import UploadCore

/// Answers the questions of the path book from disk, ledger and upload machine.
struct PathWorld: PathFacts {
    /// The answer to the last question about a path. The book asks several times an event, mostly about one path, and
    /// nothing changes meanwhile.
    private final class LastAnswer: Sendable {
        let record = Mutex<(path: RelativePath, record: DropRecord?)?>(nil)
        /// The names of directories.
        let names = Mutex<[RelativePath: Set<[UInt8]>]>([:])
    }

    private let lastAnswer = LastAnswer()
    let files: OutboxFiles
    let stored: LedgerView
    let boxedMachine: Boxed<UploadMachine>
    let sidecars: SidecarWriter
    /// The folder whose pictures are profile pictures.
    let portraitFolder: RelativePath?

    var machine: UploadMachine { _read { yield boxedMachine.value } }
    var ledger: Ledger { stored.ledger }
    var unsaved: Unsaved { _read { yield stored.boxedUnsaved.value } }

    func look(at path: RelativePath) -> FileLook { files.look(at: path) }

    func isListed(_ path: RelativePath) -> Bool {
        if path == .root { return true }
        guard isListed(path.parent) else { return false }
        return lastAnswer.names.withLock { names in
            let known = names[path.parent] ?? files.names(in: path.parent)
            names[path.parent] = known
            return known?.contains(Array(path.name)) ?? true
        }
    }

    // MARK: The ledger

    func storedRecord(of path: RelativePath) -> DropRecord? {
        stored.asked { () throws(LedgerError) in try read(path) }
    }

    private func read(_ path: RelativePath) throws(LedgerError) -> DropRecord? {
        if let last = lastAnswer.record.withLock(\.self), last.path == path { return last.record }
        let record = try stored.read(path)
        lastAnswer.record.withLock { $0 = (path, record) }
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
            if unsaved.confirmation(of: key) == nil { _ = try ledger.confirmation(of: key, scope: stored.scope) }
            if hasBacklog, !isHeld(key) { _ = try stored.upload(of: key) }
            return true
        } ?? false
    }

    // MARK: Sidecars

    func sidecarWish(of path: RelativePath) -> SidecarWish? {
        guard let (word, written) = sidecars.lastWord(of: .file(path)) else { return nil }
        if word.isCancelledByUser { return .cancelled(size: word.size, written: written) }
        return word.fileState == .paused && !wasHeldByPost(path) ? .paused : nil
    }

    /// Whether the post may be the reason for the state `paused` in the file's sidecar.
    private func wasHeldByPost(_ path: RelativePath) -> Bool {
        var directory = path.parent
        while !directory.bytes.isEmpty {
            if let word = sidecars.lastWord(of: .source(directory))?.word {
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
