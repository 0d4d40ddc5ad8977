import FileWatch
import Ledger
import LinuxSystem
import Logging
import SystemPackage
import UploadCore

// What the watch tells.
extension Uploader {
    /// How long events of the watch may keep the uploader from everything else.
    private static let slice = Duration.milliseconds(20)

    /// Queues events of the watch; called on its thread, which waits while too many are queued.
    nonisolated func hear(_ events: [WatchEvent]) {
        if heard.add(events, merge: { WatchEvent.fold($0, into: &$1) }) { run { $0.takeSlice() } }
    }

    /// Handles some of what the watch told. Between two slices control requests, results and the end of the agent get
    /// their turn.
    private func takeSlice() {
        let end = now.monotonic + Self.slice
        while !hasStopped {
            if !moveNext() {
                guard let event = heard.next() else { return setAlarm() }
                take(event)
            }
            if now.monotonic >= end {
                setAlarm()
                return run { $0.takeSlice() }
            }
        }
    }

    /// Handles events at once.
    func take(_ events: [WatchEvent]) {
        guard !hasStopped else { return }
        for event in events {
            take(event)
            while moveNext() {}
        }
        setAlarm()
    }

    private func take(_ event: WatchEvent) {
        if takeForSources(event) { return }
        switch event {
        case .seen(let path): handle(.seen(path))
        case .ready(let path, let status):
            // What a user wanted of a file may follow it here, and a post may hold it then.
            if book.mayFollow { lookForSource(above: path) }
            handle(.ready(path, FileIdentity(status), objection: parts.rules.objection(toSize: status.size)))
        case .odd(let path, let status):
            handle(.odd(path, FileIdentity(status), IntakeRules.objection(toKind: status.kind)))
        case .unreadable(let path, let error): unreadable(path, error)
        case .gone(let path): handle(.gone(path))
        case .renamed(let old, let new, let isDirectory): renamed(old, new, isDirectory: isDirectory)
        case .scanned(let summary): scanned(summary)
        case .overflowed: parts.logger.warning("events were lost; a full scan makes up for them")
        case .watchLimit(let limit): watchLimit(limit)
        case .mountLost(let path): mountLost(path)
        case .mounted(let path, let isSame): mounted(path, isSame: isSame)
        case .rootLost(let reason): rootLost(reason)
        case .rootBack(let isSame): rootBack(isSame: isSame)
        }
    }

    /// A name changed within the outbox. A directory may hold many files: they get their new names one after the other.
    private func renamed(_ old: RelativePath, _ new: RelativePath, isDirectory: Bool) {
        for source in isDirectory ? book.paths(within: old, facts: world) : [old] {
            if let target = source.moved(from: old, to: new) { moves.append((source, target)) }
        }
    }

    /// Gives one file of a renamed directory its new name.
    ///
    /// - Returns: false where none is left.
    private func moveNext() -> Bool {
        guard let (old, new) = moves.popLast() else { return false }
        lookForSource(above: new)
        handle(.renamed(old, to: new))
        return true
    }

    private func unreadable(_ path: RelativePath, _ error: Errno) {
        let look = parts.files.look(at: path)
        if case .there(.directory, _) = look {
            parts.logger.warning(
                "a directory can't be read; its files are not seen",
                metadata: ["path": "\(path)", "reason": "\(error)", "remedy": "check its permissions"])
            return
        }
        let message = "\(path) can't be read: \(error); check its permissions"
        let failure = FileError(code: "unreadable", message: message, retryable: false)
        handle(.unreadable(path, look.identity, failure))
    }

    /// After a full scan: what is known and was not found is gone, and what is gone for long enough is forgotten.
    func scanned(_ summary: ScanSummary) {
        if summary.unwatched == 0 { problems["watch"] = nil }
        if !book.hasScanned { sweepThumbnails() }
        if !book.outboxIsLost {
            foundInOutbox(summary)
            retireStuck()
        }
        handle(.scanned(summary))
        guard !book.outboxIsLost else { return }
        scannedSources(summary)
        forgetNotice()
        sweepSidecars()
        // Nothing may be written for hours; a ledger that something else damaged is noticed all the same.
        commit([]) { _ in }
        setAlarm()
    }

    // MARK: Limits and losses

    private func watchLimit(_ limit: WatchLimit) {
        problems["watch"] = "\(limit.reason); \(limit.remedy)"
        parts.logger.warning(
            "a limit on watching is reached; what can't be watched is polled, what was lost is scanned for",
            metadata: ["directory": "\(limit.directory)", "reason": "\(limit.reason)", "remedy": "\(limit.remedy)"])
    }

    private func mountLost(_ path: RelativePath) {
        handle(.mountLost(path))
        parts.logger.warning(
            "a file system below the outbox is gone; its files are waited for, not cancelled",
            metadata: ["path": "\(path)", "remedy": "mount it again"])
    }

    private func mounted(_ path: RelativePath, isSame: Bool) {
        handle(.mounted(path, isSame: isSame, descriptions: sourceDescriptions))
        parts.logger.notice(
            "a file system is mounted below the outbox", metadata: ["path": "\(path)", "same": "\(isSame)"])
        process([.networkChanged])
    }

    private func rootLost(_ reason: String) {
        handle(.outboxLost)
        problems["outbox"] = "the outbox is gone: \(reason)"
        parts.logger.error(
            "the outbox is gone; nothing is cancelled, it goes on when it is back",
            metadata: ["outbox": "\(parts.files.root)", "reason": "\(reason)"])
    }

    private func rootBack(isSame: Bool) {
        if !isSame {
            // What was to be written beside the old one's files has no place here.
            parts.sidecars.forgetPending()
            try? parts.files.outbox.repin()
        }
        handle(.outboxBack(isSame: isSame, descriptions: sourceDescriptions))
        if !isSame { outboxWasExchanged() }
        problems["outbox"] = nil
        recoverHeldFiles()
        parts.logger.notice("the outbox is back", metadata: ["same": "\(isSame)"])
        process([.networkChanged])
    }
}
