import Crypto
import Glibc
import Logging
import SystemPackage

extension Store {
    /// Does what can be done for an upload now: digests blocks that arrived out of order (on threads of its own), or
    /// makes a file of it when it is whole.
    func advance(_ upload: Upload) {
        switch upload.nextStep() {
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
            switch upload.nextStep() {
            case .nothing: return
            case .digest(let following): next = following
            case .assemble(let md5): return assemble(upload, md5: md5)
            }
        }
    }

    private func assemble(_ upload: Upload, md5: Hex128) {
        do {
            if md5 == upload.plan.md5 {
                try place(upload)
                upload.finish()
            } else {
                try reject(upload)
            }
        } catch {
            logger.error("cannot finish an upload", metadata: ["id": "\(upload.id)", "error": "\(error)"])
            upload.assemblyFailed()
        }
    }

    private func place(_ upload: Upload) throws {
        let plan = upload.plan
        try uploads.seal(upload.dataName, modified: plan.modified)
        let object = try objects.place(upload.dataName, of: uploads, md5: plan.md5)
        let path = SafePath(path: plan.path, fileName: plan.fileName)
        try tree.link(object, user: plan.user, path: path)
        let time = now()
        try withBooks { books in
            let known = books.catalog.content(plan.content)
            let content = Content(
                key: plan.content, token: known?.token ?? .random(), object: object, name: known?.name ?? path.name,
                type: known?.type ?? plan.type)
            let finished = JournalEntry.finished(upload.id, user: plan.user, content: content.token, at: time)
            try books.journal.append(content == known ? [finished] : [.content(content), finished])
            books.catalog.add(content)
            books.catalog.add(
                upload.id, Catalog.FinishedID(user: plan.user, content: content.token, at: time))
            books.catalog.remove(upload, missing: 0)
        }
    }

    /// What arrived is something else: its blocks are forgotten, and may be sent again.
    private func reject(_ upload: Upload) throws {
        logger.warning("content does not match its MD5", metadata: ["id": "\(upload.id)"])
        try withBooks { try $0.journal.append([.reset(upload.id)]) }
        try uploads.remove(upload.dataName)
        let bytes = upload.reset()
        withBooks { $0.catalog.received(-bytes) }
    }
}
