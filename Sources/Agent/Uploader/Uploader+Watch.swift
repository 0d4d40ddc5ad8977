import FileWatch
import Intake
import Ledger
import LinuxSystem
import Logging
import Sidecars
import SystemPackage
import UploadCore

// Handles the events of the watch.
extension Uploader {
    /// Longest time the uploader handles watch events without a break.
    private static let slice = Duration.milliseconds(20)

    /// Queues events of the watch. Called on the watch's thread, which blocks while the queue is full.
    nonisolated func hear(_ events: [WatchEvent]) {
        if heard.add(events, merge: { WatchEvent.fold($0, into: &$1) }) { run { $0.takeSlice() } }
    }

    /// Handles some of the queued watch events. Control requests, results and the end of the agent get their turn
    /// between two slices.
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
        if tellPosts(event) { return }
        switch event {
        case .seen(let path): handle(.seen(path))
        case .ready(let path, let status):
            // A user's wish may follow the file to this path, and a post may hold the file.
            if book.mayFollow { handle(posts: .expected(path)) }
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

    /// Handles a rename within the outbox. A directory may hold many files, so they are renamed one after the other.
    private func renamed(_ old: RelativePath, _ new: RelativePath, isDirectory: Bool) {
        for source in isDirectory ? book.paths(within: old, facts: world) : [old] {
            if let target = source.moved(from: old, to: new) { moves.append((source, target)) }
        }
    }

    /// Renames one file of a renamed directory.
    ///
    /// - Returns: false if no file is left.
    private func moveNext() -> Bool {
        guard let (old, new) = moves.popLast() else { return false }
        handle(posts: .expected(new))
        handle(.renamed(old, to: new))
        return true
    }

    private func unreadable(_ path: RelativePath, _ error: Errno) {
        let look = parts.files.look(at: path)
        if case .there(.directory, _) = look {
            parts.logger.warning(
                "a directory can't be read, so its files are not uploaded",
                metadata: ["path": "\(path)", "reason": "\(error)", "remedy": "check its permissions"])
            return
        }
        let message = "\(path) can't be read: \(error); check its permissions"
        let failure = FileError(code: "unreadable", message: message, retryable: false)
        handle(.unreadable(path, look.identity, failure))
    }

    /// Handles a full scan: known paths that were not found are gone, and expired entries are forgotten.
    func scanned(_ summary: ScanSummary) {
        if summary.unwatched == 0 { status.problems[.watch] = nil }
        if !book.hasScanned { thumbnails?.sweep() }
        if !book.outboxIsLost {
            foundInOutbox(summary)
            retireStuck()
        }
        handle(.scanned(summary))
        handle(posts: .scanned(summary))
        guard !book.outboxIsLost else { return }
        forgetNotice()
        sweepSidecars()
        // An empty commit detects a damaged ledger even if nothing is written for hours.
        commit([]) { _ in }
        setAlarm()
    }

    // MARK: Limits and losses

    private func watchLimit(_ limit: WatchLimit) {
        status.problems[.watch] = "\(limit.reason); \(limit.remedy)"
        parts.logger.warning(
            "a watch limit is reached; the agent polls unwatched directories and scans for lost events",
            metadata: ["directory": "\(limit.directory)", "reason": "\(limit.reason)", "remedy": "\(limit.remedy)"])
    }

    private func mountLost(_ path: RelativePath) {
        handle(.mountLost(path))
        parts.logger.warning(
            "a file system below the outbox is gone; the agent waits for its files and cancels none",
            metadata: ["path": "\(path)", "remedy": "mount it again"])
    }

    private func mounted(_ path: RelativePath, isSame: Bool) {
        handle(.mounted(path, isSame: isSame, descriptions: posts.descriptions))
        parts.logger.notice(
            "a file system is mounted below the outbox", metadata: ["path": "\(path)", "same": "\(isSame)"])
        process([.networkChanged])
    }

    private func rootLost(_ reason: String) {
        handle(.outboxLost)
        handle(posts: .outboxLost)
        status.problems[.outbox] = "the outbox is gone: \(reason)"
        parts.logger.error(
            "the outbox is gone; the agent cancels nothing and continues when the outbox is back",
            metadata: ["outbox": "\(parts.files.root)", "reason": "\(reason)"])
    }

    private func rootBack(isSame: Bool) {
        if !isSame {
            // Pending sidecars belong to the old outbox and have no place in this one.
            parts.sidecars.forgetPending()
            try? parts.files.outbox.repin()
        }
        handle(.outboxBack(isSame: isSame, descriptions: posts.descriptions))
        handle(posts: .outboxBack(isSame: isSame))
        if !isSame { outboxWasExchanged() }
        status.problems[.outbox] = nil
        recoverHeldFiles()
        parts.logger.notice("the outbox is back", metadata: ["same": "\(isSame)"])
        process([.networkChanged])
    }
}
