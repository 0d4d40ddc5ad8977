import Intake
import Ledger
import LinuxSystem
import Logging
import Sidecars
import UploadCore

// Sidecars and temporary files that belong to no path. They remain after kills, if a file vanished before the ledger
// knew it, if a directory was renamed while no agent ran, or if `sidecars.directory` changed.
extension Uploader {
    /// Maximum number of strays handled before other work gets its turn.
    private static let straysAtOnce = 256

    /// After a full scan, searches for strays on the reader's thread, unless a search is running.
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

    /// Searches for strays and waits for the result. Used by `prune`.
    ///
    /// - Returns: the number of strays found.
    func pruneStrays() async -> Int {
        let away = book.lostMounts
        let strays = await withCheckedContinuation { continuation in
            reader.run { [parts] in
                continuation.resume(returning: parts.sidecars.strays(parts.files, parts.rules, away: away))
            }
        }
        return isWholeOutbox ? strays.count(where: discard) : 0
    }

    /// Whether the outbox is present and is the one in the ledger. Files in another outbox do not count as gone.
    var isWholeOutbox: Bool {
        guard !book.outboxIsLost, book.elsewhere.isEmpty, let outbox = parts.files.identity else { return false }
        return knownOutbox ?? outbox == outbox
    }

    private func discard(_ strays: ArraySlice<StraySidecar>) {
        guard isWholeOutbox, !hasStopped else { return isSweeping = false }
        var count = 0
        for stray in strays.prefix(Self.straysAtOnce) where discard(stray) { count += 1 }
        if count > 0 {
            parts.logger.info("sidecars of vanished files are updated", metadata: ["count": "\(count)"])
        }
        let rest = strays.dropFirst(Self.straysAtOnce)
        if rest.isEmpty { isSweeping = false } else { run { $0.discard(rest) } }
    }

    /// Removes a stray, or rewrites it as the sidecar of a removed file.
    ///
    /// - Returns: whether it was a stray.
    private func discard(_ stray: StraySidecar) -> Bool {
        switch stray.subject {
        case .file(let path):
            guard record(of: path) == nil, !book.isHashing(path), !book.isRetiring(path), !book.isAway(path),
                parts.files.isGone(path)
            else { return false }
            if stray.isUnfinished { handle(.strayFound(path)) } else { parts.sidecars.discard(stray) }
        case .source(let directory):
            guard posts[directory] == nil, !book.isAway(directory),
                parts.files.isGone(PostPlaces.description(of: directory))
            else { return false }
            parts.sidecars.discard(stray)
        case nil: parts.sidecars.discard(stray)
        }
        return true
    }

    // MARK: A changed `sidecars.directory`

    /// Removes the sidecars of an earlier `sidecars.directory`, once per run. Sidecars at the current place are
    /// already written: at the start, or when their files were seen.
    private func leaveFormerSidecarRoot() {
        guard !hasLeftFormerRoot else { return }
        hasLeftFormerRoot = true
        let present = parts.sidecars.separateRoot
        let stored = (try? parts.ledger.setting(LedgerSetting.sidecarRoot)).flatMap(\.self)
        let former = stored.map { String(decoding: $0, as: UTF8.self) }
        guard former != present ?? "" else { return }
        // Ledgers of earlier versions lack the setting. With a separate tree, sidecars in the outbox are obsolete.
        let isFormerOutbox = former?.isEmpty ?? true
        let note = LedgerWrite.setting(LedgerSetting.sidecarRoot, Array((present ?? "").utf8))
        guard !isFormerOutbox || present != nil else { return process([], writes: [note]) }
        let files = parts.files
        let outbox = files.root
        let root = isFormerOutbox ? outbox : former ?? outbox
        reader.run { [weak self, logger = parts.logger] in
            let store = isFormerOutbox ? SidecarStore(beside: files.outbox) : SidecarStore(mirror: root)
            let count = SidecarSweep.all(below: root, except: present ?? outbox).count(where: store.remove)
            logger.notice(
                "sidecars.directory changed, so the agent removed the sidecars at the old place",
                metadata: ["from": "\(root)", "to": "\(present ?? outbox)", "count": "\(count)"])
            self?.run { $0.process([], writes: [note]) }
        }
    }
}
