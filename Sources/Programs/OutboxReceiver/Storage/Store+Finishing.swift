import Glibc
import Logging
import Synchronization
import SystemPackage

/// Turns verified uploads into confirmed files.
///
/// A confirmed file must survive a power cut. Waiting for the disk once per file would make small files ten times
/// slower. So the receiver finishes all uploads in one batch that became ready while the disk was busy:
///
/// 1. hand the bytes of all files to the disk and wait,
/// 2. rename the files into `objects/` and link them under their names,
/// 3. append the entries to the journal,
/// 4. call syncfs(2) once,
/// 5. report the contents as finished in `isFinish` and `preLoad`.
///
/// Step 1 precedes step 2, so no name ever refers to a partial file. Step 4 precedes step 5, so a power cut loses no
/// confirmed file.
///
/// If step 4 fails, the state of the disk is unknown: the receiver rolls back the whole batch and forgets its ids,
/// and the clients start over.
extension Store {
    /// How many uploads one batch confirms at most, and how long it compares and names them: so long do others wait.
    static let mostFinished = 256
    private static let patience = Duration.milliseconds(100)
    /// How many files of a batch are open at a time.
    private static let groupSize = 64

    private struct Placed {
        let upload: Upload
        let content: Content
        /// Whether the content is new, or is linked under a new path.
        let isChanged: Bool
        /// The link below `files/`.
        let name: FileTree.Name
    }

    /// Confirms this verified upload with the next batch.
    func finishLater(_ upload: Upload) {
        upload.isFinishing(at: finishing.add(upload, of: upload.plan.user) { self.finish($0) })
    }

    /// - Parameter batch: The uploads; a nil element stands for a caller that waits for the disk.
    /// - Returns: How many of the batch were confirmed or rejected.
    private func finish(_ batch: [Upload?]) -> Int {
        let written = Set(write(batch.compactMap { $0 }).map(\.id))
        let end = ContinuousClock.now + Self.patience
        var openFolder = FileTree.OpenFolder()
        var placed: [Placed] = []
        var contents: [ContentKey: [Content]] = [:]
        var count = 0
        for upload in batch {
            if count > 0, ContinuousClock.now > end { break }
            count += 1
            guard let upload, written.contains(upload.id) else { continue }
            do throws(Errno) {
                let key = upload.plan.content
                let known = contents[key] ?? withBooks { $0.catalog.contents(key) }
                guard try isCompared(upload, among: known) else {
                    // This content is known since the upload was prepared.
                    prepareLater(upload)
                    continue
                }
                guard let item = try place(upload, among: known, &openFolder) else {
                    reject(upload)
                    continue
                }
                contents[key] = known.filter { $0.token != item.content.token } + [item.content]
                placed.append(item)
            } catch .noSuchFileOrDirectory {
                // Somebody removed the data file.
                reject(upload)
            } catch {
                failed(upload, error)
            }
        }
        do throws(Errno) {
            try record(placed)
        } catch {
            for item in placed { failed(item.upload, error) }
            placed = []
        }
        do throws(Errno) {
            try synchronize()
        } catch {
            withBooks { $0.catalog.unconfirmed = [] }
            takeBack(placed)
            return count
        }
        confirm(placed)
        return count
    }

    /// Hands the bytes of files to the disk, first all of a group, then waits.
    ///
    /// Then drops small files from the page cache. The next files take the same pages, which is faster than pages unused
    /// for long. Most of a large file has left it already (``Fragment``).
    /// - Returns: The uploads whose bytes the disk took. The others are forgotten.
    func write(_ batch: [Upload]) -> [Upload] {
        guard synchronizes else { return batch }
        var written: [Upload] = []
        for start in stride(from: 0, to: batch.count, by: Self.groupSize) {
            let group = batch[start..<min(start + Self.groupSize, batch.count)]
            let files = group.map { upload in
                Result { () throws(Errno) in try startWriting(upload, isAlone: group.count == 1) }
            }
            for (upload, file) in zip(group, files) {
                do throws(Errno) {
                    let file = try file.get()
                    try file?.finishWriting()
                    if !upload.isLarge { file?.dropFromCache() }
                    written.append(upload)
                } catch {
                    // The kernel may have dropped the unwritten bytes, so the upload starts over.
                    logger.error(
                        "cannot write an upload to the disk", metadata: ["id": "\(upload.id)", "error": "\(error)"])
                    reject(upload, isLost: true)
                }
            }
        }
        return written
    }

    /// - Returns: The open data file; nil if the upload has become an object.
    private func startWriting(_ upload: Upload, isAlone: Bool) throws(Errno) -> OpenFile? {
        guard upload.object == nil else { return nil }
        let file = try uploads.open(upload.dataName, O_RDONLY)
        if !isAlone { try file.startWriting() }
        return file
    }

    /// - Parameter known: The user's contents with this MD5 and size, including those of the same batch.
    /// - Returns: Nil if the user has too many different contents with this MD5 and size.
    private func place(
        _ upload: Upload, among known: [Content], _ openFolder: inout FileTree.OpenFolder
    ) throws(Errno) -> Placed? {
        let plan = upload.plan
        guard let object = try object(of: upload, among: known) else { return nil }
        let path = SafePath(path: plan.path, fileName: plan.fileName)
        let name = try tree.link(object, user: plan.user, path: path, &openFolder)
        let former = known.first { $0.object == object && !$0.contradicts(plan.sha256) }
        var content =
            former
            ?? Content(
                key: plan.content, token: .random(), object: object, name: path.name, type: plan.type,
                sha256: plan.sha256, at: now())
        let hasNewPath = content.add(paths: [path.text, name.path])
        return Placed(upload: upload, content: content, isChanged: former == nil || hasNewPath, name: name)
    }

    /// Returns the objects that may have the bytes of an upload: the user's own contents, and unused objects, left by a kill
    /// or power cut between a batch's rename and its journal entries. Other users' contents are never compared: the free
    /// space or the time would tell what they have.
    ///
    /// - Parameter known: The user's contents with this MD5 and size.
    func candidates(for upload: Upload, among known: [Content]) throws(Errno) -> [ObjectName] {
        try known.prefix(limits.mostTwins).map(\.object)
            + objects.all(md5: upload.plan.md5).filter { object in
                !objects.isNew(object) && withBooks { !$0.catalog.uses(object) }
            }
    }

    /// Whether nothing is left to compare that would take long.
    private func isCompared(_ upload: Upload, among known: [Content]) throws(Errno) -> Bool {
        guard upload.isLarge, upload.object == nil else { return true }
        return try candidates(for: upload, among: known).allSatisfy(upload.differs(from:))
    }

    /// Returns the existing object with the same bytes, or turns the data file into a new object.
    private func object(of upload: Upload, among known: [Content]) throws(Errno) -> ObjectName? {
        if let object = upload.object { return object }
        let plan = upload.plan
        try uploads.seal(upload.dataName, modified: plan.modified)
        let candidates = upload.isLarge ? [] : try candidates(for: upload, among: known)
        if let object = try objects.duplicate(of: upload.dataName, in: uploads, among: candidates) {
            try uploads.remove(upload.dataName)
            upload.moved(to: object, isNew: false)
            return object
        }
        if known.count >= limits.mostTwins { return nil }
        // A content removed from `objects/` returns under its old name, so its URL works again.
        for content in known where !content.contradicts(plan.sha256) {
            guard try objects.move(upload.dataName, of: uploads, to: content.object) else { continue }
            upload.moved(to: content.object, isNew: true)
            return content.object
        }
        let object = try objects.place(upload.dataName, of: uploads, md5: plan.md5)
        upload.moved(to: object, isNew: true)
        return object
    }

    private func record(_ placed: [Placed]) throws(Errno) {
        guard !placed.isEmpty else { return }
        let time = now()
        try withBooks { books throws(Errno) in
            let entries = placed.flatMap { item in
                let finished = JournalEntry.finished(
                    item.upload.id, user: item.upload.plan.user, content: item.content.token, at: time)
                return item.isChanged ? [.content(books.catalog.merged(item.content)), finished] : [finished]
            }
            try books.journal.append(entries)
            books.catalog.unconfirmed = entries
        }
    }

    private func confirm(_ placed: [Placed]) {
        let time = now()
        withBooks { books in
            books.catalog.unconfirmed = []
            for item in placed {
                if item.isChanged { books.catalog.add(books.catalog.merged(item.content)) }
                books.catalog.add(
                    item.upload.id,
                    Catalog.FinishedID(user: item.upload.plan.user, content: item.content.token, at: time))
                books.catalog.remove(item.upload)
            }
        }
        counters.count { values in
            values.files += placed.count
            values.fileBytes += placed.reduce(into: 0) { $0 += $1.upload.plan.size }
        }
        for item in placed {
            objects.settle(item.content.object)
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

    func failed(_ upload: Upload, _ error: any Error) {
        logger.error("cannot finish an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
        upload.assemblyFailed(at: now())
    }

    /// Rolls back uploads whose bytes may be missing on the disk, and removes their links.
    private func takeBack(_ placed: [Placed]) {
        for item in placed {
            do throws(Errno) {
                if item.name.isNew { try tree.unlink(item.name, from: item.content.object) }
            } catch {
                logger.error(
                    "cannot remove the name of an upload that is rolled back",
                    metadata: ["id": "\(item.upload.id)", "error": "\(error)"])
            }
        }
        for item in placed { reject(item.upload, isLost: true) }
    }

    // MARK: Flushing

    /// Waits until all earlier writes are on the disk. Throws if that is uncertain.
    func settle() async throws {
        guard synchronizes else { return }
        let failures = syncFailures.load(ordering: .relaxed)
        await finishing.wait(for: finishing.add(nil, of: "") { self.finish($0) })
        guard syncFailures.load(ordering: .relaxed) == failures else { throw Refusal.storageFailed }
    }

    private func synchronize() throws(Errno) {
        guard synchronizes else { return }
        do throws(Errno) {
            // The kernel reports a write failure only once, and may then have dropped the bytes.
            if withBooks({ $0.journal.isSuspect }) { try compactJournal() }
            try root.synchronizeFileSystem()
        } catch {
            logger.error("cannot flush the storage to disk", metadata: ["error": "\(error)"])
            syncFailures.add(1, ordering: .relaxed)
            withBooks { $0.journal.isSuspect = true }
            throw error
        }
    }
}
