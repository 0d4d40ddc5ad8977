import Glibc
import Logging
import SystemPackage

extension Store {
    /// Takes the next step for an upload: digests blocks, or assembles the complete file.
    func advance(_ upload: Upload) {
        let step = upload.nextStep(at: now())
        if upload.plan.blockCount == 1, case .digest(let block) = step, let bytes = block.bytes,
            smallFiles.count < Self.mostSmallFiles
        {
            let file = SmallFile(upload: upload, block: block, bytes: bytes)
            smallFiles.add(file, of: upload.plan.user) {
                self.digest(each: $0)
                return $0.count
            }
        } else {
            take(step, of: upload, on: .caller)
        }
    }

    /// How many small files may wait for their digests in memory. The caller digests any further one.
    static let mostSmallFiles = 16

    /// A content of one block that is in memory and lacks its digests.
    struct SmallFile {
        let upload: Upload
        var block: Upload.Digesting
        let bytes: BlockBuffer
    }

    /// Digests small files together, which takes less time than one after the other.
    private func digest(each files: [SmallFile]) {
        var digests = files.map(\.block.digest)
        RunningDigest.begin(&digests, with: files.map(\.bytes.bytes))
        for (var file, digest) in zip(files, digests) {
            file.block.digest = digest
            take(file.upload.finished(file.block, at: now()), of: file.upload, on: .digestThread)
        }
    }

    private enum Place { case caller, digestThread }

    /// Small uploads of several blocks are digested by the caller, because a hop between threads costs as much as digesting
    /// a block. Separate threads digest large uploads, and all blocks that must be read back.
    private func take(_ first: Upload.NextStep, of upload: Upload, on place: Place) {
        var step = first
        var count = 0
        while case .digest(var next) = step {
            let mayStay = place == .digestThread || !upload.isLarge && next.bytes != nil
            guard mayStay, count < (digestWork.userCount > 1 ? Upload.sharedTurn : Upload.turn) else {
                return digestLater(next, of: upload)
            }
            count += 1
            do throws(Errno) {
                try digest(&next, of: upload)
            } catch {
                logger.error("cannot read an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
                return upload.abandon(next)
            }
            step = upload.finished(next, at: now())
        }
        switch step {
        case .nothing, .digest: return
        case .assemble(let digest): assemble(upload, digest)
        case .reject: reject(upload)
        }
    }

    private func digestLater(_ next: Upload.Digesting, of upload: Upload) {
        Task(executorPreference: digestQueue) { [weak self, digestWork, digestThreads] in
            await digestWork.inTurn(of: upload.plan.user) {
                let work = Task(executorPreference: digestThreads) {
                    self?.take(.digest(next), of: upload, on: .digestThread)
                }
                await work.value
            }
        }
    }

    private func digest(_ next: inout Upload.Digesting, of upload: Upload) throws(Errno) {
        if let bytes = next.bytes { return next.digest.update(bytes.bytes) }
        let file = try uploads.open(upload.dataName, O_RDONLY)
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: upload.plan.length(of: next.block), alignment: 64)
        defer { buffer.deallocate() }
        guard try file.read(into: buffer, at: upload.plan.offset(of: next.block)) == buffer.count else {
            throw .ioError
        }
        next.digest.update(UnsafeRawBufferPointer(buffer))
    }

    private func assemble(_ upload: Upload, _ digest: RunningDigest.Result) {
        guard digest == RunningDigest.Result(md5: upload.plan.md5, sha256: upload.plan.sha256) else {
            logger.warning(
                "upload refused: its content does not match its digest",
                metadata: ["id": "\(upload.id)", "user": "\(upload.plan.user)", "name": "\(upload.plan.quotedName)"])
            return reject(upload)
        }
        if upload.isLarge { prepareLater(upload) } else { finishLater(upload) }
    }

    /// Writes and compares a large file before its batch, so that the batch need not wait for it.
    func prepareLater(_ upload: Upload) {
        Task(executorPreference: largeFileThreads) {
            await self.largeWork.inTurn(of: upload.plan.user) {
                guard !self.write([upload]).isEmpty, self.prepare(upload) else { return }
                self.finishLater(upload)
            }
        }
    }

    /// Compares a large file with the objects that may have its bytes.
    ///
    /// - Returns: Whether that worked.
    private func prepare(_ upload: Upload) -> Bool {
        guard upload.object == nil else { return true }
        do throws(Errno) {
            let known = withBooks { $0.catalog.contents(upload.plan.content) }
            for object in try candidates(for: upload, among: known) where !upload.differs(from: object) {
                if try objects.duplicate(of: upload.dataName, in: uploads, among: [object]) != nil {
                    try uploads.remove(upload.dataName)
                    upload.moved(to: object, isNew: false)
                    return true
                }
                upload.differed(from: object)
            }
            return true
        } catch .noSuchFileOrDirectory {
            // Somebody removed the data file.
            reject(upload)
        } catch {
            failed(upload, error)
        }
        return false
    }

    /// Forgets all blocks of an upload whose bytes are not, or no longer, the announced content. The client may send
    /// them again.
    ///
    /// - Parameter isLost: Whether the disk may have lost correct bytes. The receiver then forgets the whole upload,
    ///   because a client gives up a content after repeated failed assemblies.
    func reject(_ upload: Upload, isLost: Bool = false) {
        // If the following writes fail too, the next attempt must not accept the bytes.
        let isForgotten = upload.distrust(isLost: isLost)
        do {
            try withBooks {
                let opened = JournalEntry.opened(upload.id, upload.plan, at: now())
                try $0.journal.append([.forgotten(upload.id)] + (isForgotten ? [] : [opened]))
            }
            try uploads.remove(upload.dataName)
            if let object = upload.newObject { try objects.remove(object) }
            if isForgotten {
                try withBooks { books in
                    // Append again: a journal rewritten meanwhile may still open the upload.
                    try books.journal.append([.forgotten(upload.id)])
                    books.catalog.remove(upload)
                }
                return upload.forget()
            }
        } catch {
            logger.error("cannot reset an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
            return upload.assemblyFailed(at: now())
        }
        let bytes = upload.reset()
        withBooks { $0.catalog.received(-bytes, of: upload) }
    }
}
