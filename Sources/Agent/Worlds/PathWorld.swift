import Intake
import Ledger
import Logging
import Sidecars
import Synchronization
import UploadCore

/// Answers the questions of the path book from disk, ledger and upload machine.
struct PathWorld: PathFacts {
    /// Keeps the ledger error that occurred while the path book asked.
    final class Trouble: Sendable {
        private let error = Mutex<LedgerError?>(nil)

        func note(_ error: LedgerError) { self.error.withLock { $0 = error } }
        func take() -> LedgerError? { error.withLock { $0.take() } }
    }

    let files: OutboxFiles
    let ledger: Ledger
    let unsaved: Unsaved
    let machine: UploadMachine
    let scope: RemoteScope
    let sidecars: SidecarWriter
    let trouble: Trouble
    let logger: Logger

    func look(at path: RelativePath) -> FileLook { files.look(at: path) }

    func storedRecord(of path: RelativePath) -> DropRecord? {
        if unsaved.covers(path) { return unsaved.drop(at: path) }
        return asked { () throws(LedgerError) in try ledger.drop(at: path) }
    }

    func forEachStoredRecord(within directory: RelativePath, _ body: (DropRecord) -> Void) {
        for record in unsaved.records(within: directory) { body(record) }
        let damaged: (LedgerError) -> Void = { error in
            logger.error("a record of the ledger is damaged", metadata: ["reason": "\(error)"])
        }
        asked { () throws(LedgerError) in
            try ledger.forEachDrop(
                within: directory,
                { record in
                    if !unsaved.covers(record.path) { body(record) }
                    return true
                }, damaged: damaged)
        }
    }

    func anyStoredRecord(of key: ContentKey) -> DropRecord? {
        asked { () throws(LedgerError) in try storedRecord(holding: key) }
    }

    /// Returns the record of one path that holds a content; `nil` if no path does.
    func storedRecord(holding key: ContentKey) throws(LedgerError) -> DropRecord? {
        if let path = unsaved.paths(of: key).first { return unsaved.drop(at: path) }
        let stored = try ledger.anyDrop(of: key)
        guard let stored, unsaved.covers(stored.path) else { return stored }
        // The stored record is being changed. Look for another path with this content.
        return try ledger.drops(of: key).lazy.compactMap { storedRecord(of: $0) }.first { $0.key == key }
    }

    func confirmation(of key: ContentKey) -> Confirmation? {
        if let known = unsaved.confirmation(of: key) { return known }
        return asked { () throws(LedgerError) in try ledger.confirmation(of: key, scope: scope) }
    }

    func canAnswer(about path: RelativePath, _ key: ContentKey?) -> Bool {
        do throws(LedgerError) {
            if !unsaved.covers(path) { _ = try ledger.drop(at: path) }
            if let key, unsaved.confirmation(of: key) == nil { _ = try ledger.confirmation(of: key, scope: scope) }
            return true
        } catch {
            trouble.note(error)
            return false
        }
    }

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

    func waiters(of key: ContentKey) -> [RelativePath] { Array(machine.waiters(of: key)) }
    func hasUpload(of key: ContentKey) -> Bool { machine.record(of: key) != nil }
    func isWaiting(_ path: RelativePath, for key: ContentKey) -> Bool { machine.isPaused(path, of: key) != nil }
    var isAllPaused: Bool { machine.isPaused }
    var isSignedOut: Bool { machine.signedOut != nil }

    /// Reads from the ledger. Records the error and returns `nil` if the read fails.
    private func asked<Answer>(_ question: () throws(LedgerError) -> Answer?) -> Answer? {
        do throws(LedgerError) {
            return try question()
        } catch {
            trouble.note(error)
            return nil
        }
    }
}
