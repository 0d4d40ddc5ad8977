import Logging
import SystemPackage

/// Restores the storage at start: replays the journal, expires old ids, and removes the files of unknown uploads.
struct Recovery {
    let root: Folder
    let uploads: Folder
    let logger: Logger
    let now: Int64

    func run() throws(Errno) -> Store.Books {
        var catalog = Catalog()
        let (lines, bad) = try Journal.read(root) { replay($0, &catalog) }
        if bad > 0 { logger.warning("journal lines are damaged and were skipped", metadata: ["lines": "\(bad)"]) }
        catalog.dateContents()
        catalog.forgetFinished(before: now - Catalog.memory)
        try removeStrayFiles(catalog)
        let wasCut = try checkData(&catalog)
        var journal = try Journal(appendingIn: root, lines: lines)
        if bad > 0 || wasCut || lines > 1000 && lines > catalog.entryCount * 5 / 4 {
            do throws(Errno) {
                try journal.replace(
                    by: Journal.rewrite(catalog.forEachEntry, in: root), copyingFrom: journal.length, lines: 0)
            } catch {
                // A full disk, perhaps. What is stored can be served, and the journal is rewritten before a confirmation.
                logger.error("the journal can't be rewritten yet", metadata: ["error": "\(error)"])
                journal.isSuspect = true
            }
        }
        return Store.Books(journal: journal, catalog: catalog)
    }

    private func replay(_ entry: JournalEntry, _ catalog: inout Catalog) {
        switch entry {
        case .opened(let id, let plan, let time): catalog.add(Upload(id: id, plan: plan, at: time))
        case .block(let id, let index): catalog.uploads[id]?.restore(index)
        case .reset(let id): catalog.uploads[id]?.restoreReset()
        case .content(let content): catalog.add(content)
        case .finished(let id, let user, let content, let time):
            forget(id, &catalog)
            catalog.add(id, Catalog.FinishedID(user: user, content: content, at: time))
        case .forgotten(let id):
            forget(id, &catalog)
            catalog.forget(id)
        case .committed(let commit): catalog.add(commit)
        case .removed(let token): catalog.removePost(token)
        case .portrait(let token, let user, let time, let size):
            catalog.portraits.add(token, user: user, at: time, size: size)
        }
    }

    private func forget(_ id: Hex128, _ catalog: inout Catalog) {
        guard let upload = catalog.uploads[id] else { return }
        catalog.remove(upload)
    }

    private func removeStrayFiles(_ catalog: Catalog) throws(Errno) {
        for name in try uploads.names() {
            if let id = Hex128(name), catalog.uploads[id] != nil { continue }
            try uploads.remove(name)
        }
    }

    /// Checks the data files of open uploads against the journal. After a power cut, a file may be missing or too
    /// short for its recorded blocks. The upload's blocks are then forgotten.
    /// - Returns: Whether any blocks were forgotten, so that the journal must be rewritten.
    private func checkData(_ catalog: inout Catalog) throws(Errno) -> Bool {
        var wasCut = false
        for upload in catalog.uploads.values {
            let status = try uploads.status(of: upload.dataName)
            if let status { upload.touch(at: status.modified) }
            guard let last = upload.arrivedBlocks.last else { continue }
            if (status?.size ?? 0) < upload.plan.offset(of: last) + Int64(upload.plan.length(of: last)) {
                upload.restoreReset()
                wasCut = true
            }
            catalog.received(upload.arrivedBytes, of: upload)
        }
        return wasCut
    }
}
