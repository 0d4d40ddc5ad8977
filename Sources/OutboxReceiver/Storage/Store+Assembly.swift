import Crypto
import Glibc
import Logging
import SystemPackage

extension Store {
    /// Does what can be done for an upload now: digests blocks that arrived out of order (on threads of its own), or
    /// makes a file of it when it is whole.
    func advance(_ upload: Upload) {
        switch upload.nextStep(at: now()) {
        case .nothing:
            return
        case .digest(let first):
            Task(executorPreference: digestThreads) { [weak self] in
                self?.digest(first, of: upload)
            }
        case .assemble(let md5):
            assemble(upload, md5: md5)
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
                next.digest.update(bufferPointer: UnsafeRawBufferPointer(block))
            } catch {
                logger.error("cannot read an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
                return upload.abandon(next)
            }
            upload.finished(next)
            switch upload.nextStep(at: now()) {
            case .nothing: return
            case .digest(let following): next = following
            case .assemble(let md5): return assemble(upload, md5: md5)
            }
        }
    }

    private func assemble(_ upload: Upload, md5: Hex128) {
        guard md5 == upload.plan.md5 else {
            logger.warning(
                "upload refused: its content does not match its MD5",
                metadata: ["id": "\(upload.id)", "user": "\(upload.plan.user)", "name": "\(upload.plan.quotedName)"])
            return reject(upload)
        }
        guard upload.isLarge else { return finishLater(upload) }
        // Written, and compared where the content is known, before it comes to the batches: these would wait for it.
        Task(executorPreference: digestThreads) {
            self.prepare(upload)
            self.finishLater(upload)
        }
    }

    private func prepare(_ upload: Upload) {
        do throws(Errno) {
            guard upload.object == nil else { return }
            if synchronizes { try uploads.open(upload.dataName, O_RDONLY).finishWriting() }
            if let object = try objects.duplicate(of: upload.dataName, in: uploads, md5: upload.plan.md5) {
                try uploads.remove(upload.dataName)
                upload.moved(to: object)
            }
        } catch {
            // Whatever it is, the batch meets it too.
            logger.debug("cannot prepare an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
        }
    }

    /// What arrived is not, or no longer, what was promised: its blocks are forgotten, and may be sent again.
    func reject(_ upload: Upload) {
        do {
            try withBooks { try $0.journal.append([.reset(upload.id)]) }
            try uploads.remove(upload.dataName)
        } catch {
            logger.error("cannot reset an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
            return upload.assemblyFailed(at: now())
        }
        let bytes = upload.reset()
        withBooks { $0.catalog.received(-bytes, of: upload) }
    }
}
