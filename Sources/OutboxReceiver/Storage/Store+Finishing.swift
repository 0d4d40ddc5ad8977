import Glibc
import Logging
import Synchronization
import SystemPackage

/// From a verified upload to a file that is confirmed.
///
/// What is confirmed must outlive a power cut, and waiting for the disk once for each file would make small files ten
/// times slower. So everything that became ready while the disk was busy goes together:
///
/// 1. the bytes of all files are handed to the disk,
/// 2. the files are renamed into `objects/` and linked under their names,
/// 3. the journal says so,
/// 4. one syncfs(2) for all of it,
/// 5. from now on `isFinish` and `preLoad` call the contents finished.
///
/// As 1 comes before 2, no name ever stands for half of a file; as 4 comes before 5, nothing is confirmed that could
/// be lost.
extension Store {
    private struct Placed {
        let upload: Upload
        let content: Content
        let isNew: Bool
    }

    /// Confirms this upload, whose bytes are verified, with the next batch.
    func finishLater(_ upload: Upload) {
        upload.isFinishing(in: finishing.add(upload) { self.finish($0) })
    }

    /// - Parameter batch: Nil stands for somebody who waits for the disk.
    private func finish(_ batch: [Upload?]) {
        let written = batch.compactMap { $0 }.filter { write($0) }
        var placed: [Placed] = []
        var contents: [ContentKey: Content] = [:]
        for upload in written {
            do throws(Errno) {
                let item = try place(upload, known: contents[upload.plan.content])
                contents[upload.plan.content] = item.content
                placed.append(item)
            } catch {
                failed(upload, error)
            }
        }
        do {
            try record(placed)
            try synchronize()
        } catch {
            for item in placed { failed(item.upload, error) }
            return
        }
        confirm(placed)
    }

    /// Hands the bytes of a file to the disk.
    private func write(_ upload: Upload) -> Bool {
        guard synchronizes, upload.object == nil else { return true }
        do throws(Errno) {
            try self.uploads.open(upload.dataName, O_RDONLY).finishWriting()
            return true
        } catch {
            // The kernel may have dropped the bytes it could not write: only sending them again helps.
            logger.error("cannot write an upload to the disk", metadata: ["id": "\(upload.id)", "error": "\(error)"])
            reject(upload)
            return false
        }
    }

    /// - Parameter known: The content if it is in the same batch.
    private func place(_ upload: Upload, known: Content?) throws(Errno) -> Placed {
        let plan = upload.plan
        let object: ObjectName
        if let moved = upload.object {
            object = moved
        } else {
            try uploads.seal(upload.dataName, modified: plan.modified)
            object = try objects.place(upload.dataName, of: uploads, md5: plan.md5)
            upload.moved(to: object)
        }
        let path = SafePath(path: plan.path, fileName: plan.fileName)
        try tree.link(object, user: plan.user, path: path)
        let known = known ?? withBooks { $0.catalog.content(plan.content) }
        let content = Content(
            key: plan.content, token: known?.token ?? .random(), object: object, name: known?.name ?? path.name,
            type: known?.type ?? plan.type)
        return Placed(upload: upload, content: content, isNew: content != known)
    }

    private func record(_ placed: [Placed]) throws(Errno) {
        guard !placed.isEmpty else { return }
        let time = now()
        let entries = placed.flatMap { item in
            let finished = JournalEntry.finished(
                item.upload.id, user: item.upload.plan.user, content: item.content.token, at: time)
            return item.isNew ? [.content(item.content), finished] : [finished]
        }
        try appendToJournal(entries)
    }

    private func confirm(_ placed: [Placed]) {
        let time = now()
        withBooks { books in
            for item in placed {
                books.catalog.add(item.content)
                books.catalog.add(
                    item.upload.id,
                    Catalog.FinishedID(user: item.upload.plan.user, content: item.content.token, at: time))
                books.catalog.remove(item.upload)
            }
        }
        for item in placed {
            item.upload.finish()
            logger.info(
                "upload finished",
                metadata: [
                    "id": "\(item.upload.id)", "user": "\(item.upload.plan.user)",
                    "name": "\(item.upload.plan.quotedName)", "md5": "\(item.upload.plan.md5)",
                    "bytes": "\(item.upload.plan.size)",
                ])
        }
    }

    private func failed(_ upload: Upload, _ error: any Error) {
        logger.error("cannot finish an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
        upload.assemblyFailed(at: now())
    }

    // MARK: Waiting for the disk

    /// Returns when everything that was written before is on the disk; throws where that is not certain.
    func settle() async throws {
        guard synchronizes else { return }
        let failures = syncFailures.load(ordering: .relaxed)
        await finishing.wait(for: finishing.add(nil) { self.finish($0) })
        guard syncFailures.load(ordering: .relaxed) == failures else { throw Refusal.storageFailed }
    }

    private func synchronize() throws(Errno) {
        guard synchronizes else { return }
        do throws(Errno) {
            // The kernel tells of a failure once only, and may then have dropped what it could not write.
            if withBooks({ $0.journal.isSuspect }) { try compactJournal() }
            try root.synchronizeFileSystem()
        } catch {
            logger.error("cannot write to the disk", metadata: ["error": "\(error)"])
            syncFailures.add(1, ordering: .relaxed)
            withBooks { $0.journal.isSuspect = true }
            throw error
        }
    }
}
