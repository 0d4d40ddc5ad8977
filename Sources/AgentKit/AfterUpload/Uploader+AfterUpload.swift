import Ledger
import Logging
import SystemPackage
import UploadCore

// What becomes of a file once the server has confirmed its content (`intake.after_upload`).
//
// The file is taken aside, read once more, and only if it still is the content that was confirmed the ledger says where
// it goes, and then it goes there. A kill at any point leaves the file in the outbox or in the holding area, from where
// it is put back at the next start and all this begins anew.
extension Uploader {
    /// A file on its way out.
    enum Retirement: Sendable {
        /// It is taken aside and being looked at.
        case held(DropRecord)
        /// It could not be moved; tried again after each full scan.
        case stuck
    }

    /// Begins to move or delete a file whose content the server has just confirmed.
    func retire(_ path: RelativePath) {
        guard parts.afterUpload != .keep, retiring[path] == nil, hashing[path] == nil,
            let record = record(of: path), record.state == .done, record.disposal == .pending,
            let identity = record.identity
        else { return }
        do {
            guard try parts.holding.take(path, identity) else {
                // Not the file that was sent: it is a new one.
                return reconsider(path)
            }
        } catch {
            return getStuck(path, error)
        }
        retiring[path] = .held(record)
        withdrawn.insert(path)
        let job = HashPool.Job(path: HoldingArea.place(of: path), size: identity.size) { [weak self] result in
            self?.run { $0.lookedAgain(path, record, result) }
        }
        parts.hashPool.add(job)
    }

    /// Tries again what could not be moved.
    func retireStuck() {
        for (path, retirement) in retiring {
            guard case .stuck = retirement else { continue }
            retiring[path] = nil
            retire(path)
        }
    }

    private func getStuck(_ path: RelativePath, _ error: Errno) {
        retiring[path] = .stuck
        guard problems["after_upload"] == nil else { return }
        let remedy = "make the outbox writable, and keep intake.move_to on its file system"
        problems["after_upload"] = "\(path) can't be moved out of the outbox: \(error); \(remedy)"
        parts.logger.error(
            "files that are uploaded can't be moved out of the outbox; it is tried again",
            metadata: ["path": "\(path)", "reason": "\(error)", "remedy": "\(remedy)"])
    }

    private func lookedAgain(_ path: RelativePath, _ record: DropRecord, _ result: HashResult) {
        guard case .content(_, _, let content, _) = result, content.key == record.key,
            let known = confirmation(of: content.key), known.seal == content.seal
        else { return giveBack(path) }
        if parts.afterUpload == .delete { delete(path, record) } else { move(out: path, record) }
    }

    /// Puts a file back that turned out to be another one, and has it looked at anew.
    private func giveBack(_ path: RelativePath) {
        retiring[path] = nil
        do {
            if let name = try parts.holding.putBack(path) { reconsider(name) }
        } catch {
            getStuck(path, error)
        }
    }

    private func delete(_ path: RelativePath, _ old: DropRecord) {
        var writes: [LedgerWrite] = []
        if isCurrent(old) {
            var record = old
            record.disposal = .deleted
            writes = [keep(record)]
        }
        commit(writes) { uploader in
            do {
                try uploader.parts.holding.delete(path)
                uploader.retired(path)
            } catch {
                uploader.giveBack(path)
            }
        }
    }

    private func move(out path: RelativePath, _ old: DropRecord) {
        let target: RelativePath
        do {
            target = try parts.holding.freeName(for: parts.moveTo.appending(path.bytes))
        } catch {
            return giveBack(path)
        }
        var record = old
        record.path = target
        record.disposal = .moved(from: path)
        let isCurrent = isCurrent(old)
        commit((isCurrent ? [.forgetDrop(path)] : []) + [keep(record)]) { [record] uploader in
            uploader.release(path, record, withSidecar: isCurrent)
        }
    }

    private func release(_ path: RelativePath, _ record: DropRecord, withSidecar: Bool) {
        do {
            try parts.holding.release(path, to: record.path)
        } catch {
            process([], writes: [.forgetDrop(record.path)])
            return giveBack(path)
        }
        if withSidecar { parts.sidecars.remove(path) }
        report(record)
        retired(path)
    }

    private func retired(_ path: RelativePath) {
        retiring[path] = nil
        problems["after_upload"] = nil
    }

    /// Whether nothing new was dropped under the path meanwhile.
    private func isCurrent(_ record: DropRecord) -> Bool {
        drops[record.path] == nil && self.record(of: record.path)?.identity == record.identity
    }

    /// Puts back what the last run took aside and could not finish.
    func recoverHeldFiles() {
        let files = parts.holding.recover()
        guard !files.isEmpty else { return }
        parts.logger.notice(
            "files that were about to leave the outbox are back in it; they go once they were checked again",
            metadata: ["files": "\(files.count)"])
    }
}
