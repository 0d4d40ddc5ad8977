import AgentConfiguration
import ControlAPI
import Intake
import Logging
import Sidecars
import SystemPackage
import UploadCore

// What happens to a file after the server confirmed its content (`intake.after_upload`).
//
// The uploader moves the file to the holding area and hashes it once more. If the content is still the confirmed one,
// the ledger records the file's destination. Only then the uploader moves or deletes the file. A kill leaves the file
// in the outbox or in the holding area. The next start puts it back, and the procedure begins again.
extension Uploader {
    /// Begins to move or delete a file whose content the server confirmed.
    func retire(_ path: RelativePath) {
        guard parts.afterUpload != .keep, book.retiring[path] == nil, !book.isHashing(path),
            let record = record(of: path), record.state == .done, record.disposal == .pending,
            let identity = record.identity, !identity.isUntrusted, !hasStopped, thumbnails?.hold(record) != true,
            !posts.keeps(record)
        else { return }
        do {
            guard try parts.holding.take(path, identity) else {
                // Another file has this name now. Handle it as a new file.
                return reconsider(path)
            }
        } catch Errno.staleNFSFileHandle {
            // The outbox is absent. The scan after its return finds the file again.
            return
        } catch {
            return getStuck(path, error)
        }
        book.retiring[path] = .held(record)
        book.withdrawn.insert(path)
        let job = HashPool.Job(path: HoldingArea.place(of: path), identity: identity) { [weak self] result in
            self?.run { $0.lookedAgain(path, record, result) }
        }
        parts.hashPool.add(job)
    }

    /// After a full scan: puts back files that need not be held any more, and retries files that could not be moved.
    func retireStuck() {
        recoverHeldFiles()
        for (path, retirement) in book.retiring {
            guard case .stuck = retirement else { continue }
            book.retiring[path] = nil
            retire(path)
        }
    }

    private func getStuck(_ path: RelativePath, _ error: Errno) {
        book.retiring[path] = .stuck
        guard status.problems[.afterUpload] == nil else { return }
        var remedy = "make the outbox writable, and keep intake.move_to a directory on its file system"
        if [.notPermitted, .tooManySymbolicLinkLevels, .notDirectory].contains(error) {
            let target = parts.afterUpload == .move ? parts.moveTo.appending(path.bytes) : nil
            remedy = parts.holding.obstacle(to: target) ?? remedy
        }
        status.problems[.afterUpload] = "\(path) can't be moved out of the outbox: \(error); \(remedy)"
        parts.logger.error(
            "uploaded files can't be moved out of the outbox; the agent tries again after each full scan",
            metadata: ["path": "\(path)", "reason": "\(error)", "remedy": "\(remedy)"])
    }

    private func lookedAgain(_ path: RelativePath, _ record: DropRecord, _ result: HashFinding) {
        // The agent is ending and has put the file back.
        guard case .held = book.retiring[path] else { return }
        guard case .content(_, _, let content, _) = result, content.key == record.key,
            let known = confirmation(of: content.key), known.seal == content.seal, !known.isByMD5Alone
        else { return giveBack(path) }
        if parts.afterUpload == .delete { delete(path, record) } else { move(out: path, record) }
    }

    /// Puts back a file whose content differs, and has the watch report it again.
    private func giveBack(_ path: RelativePath) {
        do {
            let name = try parts.holding.putBack(path)
            retired(path)
            if let name { reconsider(name) }
        } catch {
            getStuck(path, error)
        }
    }

    /// Puts back a file that can't be moved or deleted now. The next full scan retries.
    private func leaveForLater(_ old: DropRecord, _ error: Errno, forgetting target: RelativePath? = nil) {
        let name = try? parts.holding.putBack(old.path)
        var writes = target.map { [LedgerWrite.forgetDrop($0)] } ?? []
        if name == old.path, let status = try? parts.files.status(of: old.path) {
            var record = old
            record.identity = FileIdentity(status)
            writes.append(book.keep(record))
        } else if let name {
            reconsider(name)
        }
        process([], writes: writes)
        getStuck(old.path, error)
    }

    private func delete(_ path: RelativePath, _ old: DropRecord) {
        var writes: [LedgerWrite] = []
        if isCurrent(old) {
            var record = old
            record.disposal = .deleted
            writes = [book.keep(record)]
        }
        commit(writes) { uploader in
            guard case .held = uploader.book.retiring[path] else { return }
            do throws(Errno) {
                try uploader.parts.holding.delete(path)
                uploader.retired(path)
            } catch {
                uploader.leaveForLater(old, error)
            }
        }
    }

    private func move(out path: RelativePath, _ old: DropRecord) {
        let target: RelativePath
        do throws(Errno) {
            target = try parts.holding.freeName(for: parts.moveTo.appending(path.bytes))
        } catch {
            return leaveForLater(old, error)
        }
        var record = old
        record.path = target
        record.disposal = .moved(from: path)
        var writes = [book.keep(record)]
        if isCurrent(old) {
            var trace = old
            trace.disposal = .movedAway(to: target)
            writes.append(book.keep(trace))
        }
        commit(writes) { [record] uploader in
            uploader.release(old, as: record)
        }
    }

    private func release(_ old: DropRecord, as record: DropRecord) {
        guard case .held = book.retiring[old.path] else { return }
        do {
            try parts.holding.release(old.path, to: record.path)
        } catch {
            return leaveForLater(old, error, forgetting: record.path)
        }
        if book.drops[old.path] == nil { parts.sidecars.remove(old.path) }
        events.publish(gone: old.path)
        report([record.path])
        retired(old.path)
    }

    private func retired(_ path: RelativePath) {
        book.retiring[path] = nil
        status.problems[.afterUpload] = nil
        // Another file arrived at this path meanwhile.
        if book.drops[path] != nil { reconsider(path) }
    }

    /// Whether the path still refers to the same file.
    private func isCurrent(_ record: DropRecord) -> Bool {
        book.drops[record.path] == nil && self.record(of: record.path)?.identity == record.identity
    }

    /// Puts back held files that did not leave, from this run or the previous one.
    func recoverHeldFiles() {
        let held = book.retiring.filter { if case .held = $0.value { true } else { false } }
        let (files, failures) = parts.holding.recover(except: Set(held.keys))
        if !files.isEmpty {
            parts.logger.notice(
                "files that were leaving the outbox are back; the agent checks them again, then moves or deletes them",
                metadata: ["files": "\(files.count)"])
        }
        for (path, error) in failures {
            parts.logger.error(
                "a file can't be moved back into the outbox; it stays in the holding area",
                metadata: ["path": "\(HoldingArea.place(of: path))", "reason": "\(error)"])
        }
    }

    /// Puts back all held files before the agent ends.
    func putBackHeldFiles() {
        for (path, retirement) in book.retiring {
            if case .held = retirement { book.retiring[path] = nil }
        }
        recoverHeldFiles()
    }
}
