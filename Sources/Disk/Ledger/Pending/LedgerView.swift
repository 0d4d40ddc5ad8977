package import Logging
import Synchronization
package import UploadCore

/// The ledger's content, including changes that are not durable yet.
///
/// Not `Sendable`, so the compiler confines it to the thread of its owner.
package final class LedgerView {
    /// The ledger itself, without these changes.
    package let ledger: Ledger
    package let scope: RemoteScope
    package let logger: Logger
    /// Changes whose commits are not durable yet.
    package private(set) var unsaved = Unsaved()
    /// The last error of a read, until somebody takes it.
    private var error: LedgerError?
    /// The contents whose uploads can't be read, until somebody takes them.
    private var lost: [ContentKey] = []

    /// - Parameter scope: the server and account whose uploads and confirmations count.
    package init(ledger: Ledger, scope: RemoteScope, logger: Logger) {
        (self.ledger, self.scope, self.logger) = (ledger, scope, logger)
    }

    // MARK: Changes

    /// Begins a commit.
    ///
    /// - Returns: the number of the commit.
    package func begin() -> UInt64 { unsaved.begin() }

    /// Adds changes to a commit. From now on, all reads include them.
    package func add(_ writes: [LedgerWrite], to commit: UInt64) { unsaved.add(writes, to: commit) }

    /// The changes of a commit are durable.
    package func saved(_ writes: [LedgerWrite], by commit: UInt64) { unsaved.saved(writes, by: commit) }

    // MARK: Trouble

    /// Keeps an error that occurred in a read.
    package func note(_ error: LedgerError) { self.error = error }

    /// Removes and returns the last error of a read.
    package func takeError() -> LedgerError? { error.take() }

    /// Removes and returns the contents whose uploads can't be read.
    package func takeLost() -> [ContentKey] {
        defer { lost = [] }
        return lost
    }

    // MARK: Paths

    package func record(of path: RelativePath) -> DropRecord? {
        asked { () throws(LedgerError) in try read(path) }
    }

    /// Returns the record of a path.
    package func read(_ path: RelativePath) throws(LedgerError) -> DropRecord? {
        unsaved.covers(path) ? unsaved.drop(at: path) : try ledger.drop(at: path)
    }

    package func forEachRecord(within directory: RelativePath, _ body: (DropRecord) -> Void) {
        for record in unsaved.records(within: directory) { body(record) }
        asked { () throws(LedgerError) in
            try ledger.forEachDrop(
                within: directory,
                { record in
                    if !unsaved.covers(record.path) { body(record) }
                    return true
                }, damaged: logDamage)
        }
    }

    /// Returns some hundred records at or below a directory, in no particular order. The first page includes all pending
    /// changes; further pages repeat some.
    package func page(
        within directory: RelativePath = .root, from position: DropPosition
    ) throws(LedgerError) -> (drops: [DropRecord], next: DropPosition?) {
        let stored = try ledger.drops(within: directory, from: position, damaged: logDamage)
        let records = stored.drops.compactMap { unsaved.covers($0.path) ? unsaved.drop(at: $0.path) : $0 }
        let pending = position == .first ? unsaved.records(within: directory) : []
        return (records + pending, stored.next)
    }

    package func forEachRecordNeededAtStart(_ body: (DropRecord) -> Void) {
        for record in unsaved.records where record.isNeededAtStart { body(record) }
        asked { () throws(LedgerError) in
            try ledger.forEachDropNeededAtStart(
                { record in
                    if !unsaved.covers(record.path) { body(record) }
                    return true
                }, damaged: logDamage)
        }
    }

    /// Returns the record of one path that holds a content; `nil` if no path does.
    package func anyRecord(of key: ContentKey) throws(LedgerError) -> DropRecord? {
        if let path = unsaved.paths(of: key).first { return unsaved.drop(at: path) }
        let stored = try ledger.anyDrop(of: key)
        guard let stored, unsaved.covers(stored.path) else { return stored }
        // The stored record is being changed. Look for another path with this content.
        return try records(of: key).first
    }

    /// Returns the records of all paths that hold a content.
    ///
    /// - Parameter count: the maximum number of stored ones.
    package func records(of key: ContentKey, atMost count: Int = .max) throws(LedgerError) -> [DropRecord] {
        var records: [DropRecord] = []
        for path in unsaved.paths(of: key).union(try ledger.drops(of: key, atMost: count)) {
            if let record = try read(path), record.key == key { records.append(record) }
        }
        return records
    }

    // MARK: Contents

    package func confirmation(of key: ContentKey) -> Confirmation? {
        if let known = unsaved.confirmation(of: key) { return known }
        return asked { () throws(LedgerError) in try ledger.confirmation(of: key, scope: scope) }
    }

    /// Returns what a recipe made of a content.
    package func product(of original: DropContent, _ recipe: Recipe) -> ProductRecord? {
        let text = recipe.text
        let unsaved = unsaved.product(of: original.key)
        let known =
            unsaved?.product.recipe == text
            ? unsaved : asked { () throws(LedgerError) in try ledger.product(of: original.key, recipe: text) }
        // Another content may have the same MD5.
        return known?.product.originalSeal == original.seal ? known : nil
    }

    /// Returns the upload of a content for the present server and account.
    package func upload(of key: ContentKey) throws(LedgerError) -> UploadRecord? {
        let record = if let change = unsaved.upload(of: key) { change } else { try ledger.upload(key) }
        return record?.scope == scope ? record : nil
    }

    /// Returns a part of the queue: the stored uploads behind a place, and unsaved ones in between.
    package func queue(after place: QueuePlace, atMost count: Int) throws(LedgerError) -> (
        uploads: [UploadRecord], next: QueuePlace?
    ) {
        let stored = try ledger.uploads(after: place, atMost: count) { error in
            logDamage(error)
            if let key = error.upload { lost.append(key) }
        }
        let end = stored.count < count ? nil : stored.last?.place
        let fresh = unsaved.uploads.filter { $0.place > place && $0.place <= end ?? $0.place }
        let rest = stored.filter { unsaved.upload(of: $0.key) == nil }
        let uploads = (rest + fresh).filter { $0.scope == scope }.sorted { $0.place < $1.place }
        return (uploads, end)
    }

    /// Logs that a record is unreadable. The agent continues without it.
    package func logDamage(_ error: LedgerError) {
        logger.error("a record of the ledger is damaged", metadata: ["reason": "\(error)"])
    }

    /// Reads from the ledger. Records the error and returns `nil` if the read fails.
    package func asked<Answer>(_ question: () throws(LedgerError) -> Answer?) -> Answer? {
        do throws(LedgerError) {
            return try question()
        } catch {
            note(error)
            return nil
        }
    }
}
