import Glibc
import Logging
import SystemPackage

extension Store {
    /// Takes the next step for an upload: digests blocks that arrived out of order (on separate threads), or
    /// assembles the complete file.
    func advance(_ upload: Upload) {
        switch upload.nextStep(at: now()) {
        case .nothing:
            return
        case .digest(let first):
            Task(executorPreference: digestThreads) { [weak self] in
                self?.digest(first, of: upload)
            }
        case .assemble(let digest):
            assemble(upload, digest)
        case .reject:
            reject(upload)
        }
    }

    private func digest(_ first: Upload.Digesting, of upload: Upload) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(UploadPlan.blockSize), alignment: 64)
        defer { buffer.deallocate() }
        var next = first
        while true {
            do {
                let file = try uploads.open(upload.dataName, O_RDONLY)
                let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<upload.plan.length(of: next.block)])
                guard try file.read(into: block, at: upload.plan.offset(of: next.block)) == block.count else {
                    throw Errno.ioError
                }
                next.digest.update(UnsafeRawBufferPointer(block))
            } catch {
                logger.error("cannot read an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
                return upload.abandon(next)
            }
            upload.finished(next)
            switch upload.nextStep(at: now()) {
            case .nothing: return
            case .digest(let following): next = following
            case .assemble(let digest): return assemble(upload, digest)
            case .reject: return reject(upload)
            }
        }
    }

    private func assemble(_ upload: Upload, _ digest: RunningDigest.Result) {
        guard digest == RunningDigest.Result(md5: upload.plan.md5, sha256: upload.plan.sha256) else {
            logger.warning(
                "upload refused: its content does not match its digest",
                metadata: ["id": "\(upload.id)", "user": "\(upload.plan.user)", "name": "\(upload.plan.quotedName)"])
            return reject(upload)
        }
        guard upload.isLarge else { return finishLater(upload) }
        // Write and compare the file before its batch, so that the batch need not wait for it.
        Task(executorPreference: digestThreads) {
            guard !self.write([upload]).isEmpty else { return }
            self.prepare(upload)
            self.finishLater(upload)
        }
    }

    private func prepare(_ upload: Upload) {
        do throws(Errno) {
            guard upload.object == nil else { return }
            let known = withBooks { $0.catalog.contents(upload.plan.content) }.map(\.object)
            if let object = try objects.duplicate(of: upload.dataName, in: uploads, among: known) {
                try uploads.remove(upload.dataName)
                upload.moved(to: object, isNew: false)
            }
        } catch {
            // The batch will meet the same error.
            logger.debug("cannot deduplicate an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
        }
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
