import Ledger
import LinuxSystem
import Logging
import UploadCore

// Sidecars and temporary files that belong to no path: of files that vanished before the ledger knew them, of directories
// that were renamed while no agent ran, of kills, and of another `sidecars.directory`.
extension Uploader {
    /// Strays that are dealt with before other work gets its turn.
    private static let straysAtOnce = 256

    /// After a full scan: looks for strays on the reader's thread, unless it is still at it.
    func sweepSidecars() {
        guard !isSweeping, !hasStopped, isWholeOutbox else { return }
        isSweeping = true
        let away = book.lostMounts
        reader.run { [weak self, parts] in
            let strays = parts.sidecars.strays(parts.files, parts.rules, away: away)
            self?.run { uploader in
                uploader.discard(strays[...])
                uploader.leaveFormerSidecarRoot()
            }
        }
    }

    /// The same for `prune`, which waits for it.
    ///
    /// - Returns: how many were found.
    func pruneStrays() async -> Int {
        let away = book.lostMounts
        let strays = await withCheckedContinuation { continuation in
            reader.run { [parts] in
                continuation.resume(returning: parts.sidecars.strays(parts.files, parts.rules, away: away))
            }
        }
        return isWholeOutbox ? strays.count(where: discard) : 0
    }

    /// Whether the outbox is there, and the one that the ledger tells of. Elsewhere is not gone.
    var isWholeOutbox: Bool {
        guard !book.outboxIsLost, book.elsewhere.isEmpty, let outbox = parts.files.identity else { return false }
        return knownOutbox ?? outbox == outbox
    }

    private func discard(_ strays: ArraySlice<StraySidecar>) {
        guard isWholeOutbox, !hasStopped else { return isSweeping = false }
        var count = 0
        for stray in strays.prefix(Self.straysAtOnce) where discard(stray) { count += 1 }
        if count > 0 {
            parts.logger.info("sidecars of files that are gone are brought in line", metadata: ["count": "\(count)"])
        }
        let rest = strays.dropFirst(Self.straysAtOnce)
        if rest.isEmpty { isSweeping = false } else { run { $0.discard(rest) } }
    }

    /// Removes a stray, or writes it anew as that of a removed file.
    ///
    /// - Returns: whether it was one.
    private func discard(_ stray: StraySidecar) -> Bool {
        switch stray.subject {
        case .file(let path):
            guard record(of: path) == nil, !book.isHashing(path), book.retiring[path] == nil, !book.isAway(path),
                parts.files.isGone(path)
            else { return false }
            if stray.isUnfinished { handle(.strayFound(path)) } else { parts.sidecars.discard(stray) }
        case .source(let directory):
            guard sources[directory] == nil, !book.isAway(directory),
                parts.files.isGone(SourcePlaces.description(of: directory))
            else { return false }
            parts.sidecars.discard(stray)
        case nil: parts.sidecars.discard(stray)
        }
        return true
    }

    // MARK: Another `sidecars.directory`

    /// Once a run: removes the sidecars that an earlier configuration put book.elsewhere. Those of the present place are
    /// written already: at the start, or when their files were seen.
    private func leaveFormerSidecarRoot() {
        guard !hasLeftFormerRoot else { return }
        hasLeftFormerRoot = true
        let present = parts.sidecars.separateRoot
        let stored = (try? parts.ledger.setting(Setting.sidecarRoot)).flatMap(\.self)
        let former = stored.map { String(decoding: $0, as: UTF8.self) }
        guard former != present ?? "" else { return }
        // Ledgers of earlier versions don't tell; a separate tree needs no sidecars in the outbox.
        let isFormerOutbox = former?.isEmpty ?? true
        let note = LedgerWrite.setting(Setting.sidecarRoot, Array((present ?? "").utf8))
        guard !isFormerOutbox || present != nil else { return process([], writes: [note]) }
        let files = parts.files
        let outbox = files.root
        let root = isFormerOutbox ? outbox : former ?? outbox
        reader.run { [weak self, logger = parts.logger] in
            let store = isFormerOutbox ? SidecarStore(beside: files.outbox) : SidecarStore(mirror: root)
            let count = SidecarSweep.all(below: root, except: present ?? outbox).count(where: store.remove)
            logger.notice(
                "sidecars.directory changed: sidecars left their former place",
                metadata: ["from": "\(root)", "to": "\(present ?? outbox)", "count": "\(count)"])
            self?.run { $0.process([], writes: [note]) }
        }
    }
}
