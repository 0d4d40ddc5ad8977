package import AgentSupport
package import Intake
import LinuxSystem
package import Logging
package import Reports
import Synchronization
import SystemPackage
package import UploadCore

/// Keeps the sidecars up to date. A separate thread keeps slow disks from delaying other work.
package actor SidecarWriter {
    /// A task for one file or source. A newer order replaces an older one that has not begun.
    enum Order: Sendable {
        case write(Sidecar)
        /// Writes the sidecar only if the existing one does not show this outcome.
        case repair(Sidecar)
        case remove
        /// Removes a file that is no longer the sidecar of a path.
        case discard(StraySidecar)
    }

    /// After this many failures in a row, the rest waits for the next turn: on a full disk all writes would fail.
    private static let mostFailures = 16

    private let thread = SerialThread(name: "sidecars")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let store: SidecarStore
    /// Whether sidecars stand in the outbox rather than in a separate tree.
    package nonisolated let standBesideFiles: Bool
    private let writesRejected: Bool
    private let clock: any Clocks
    private let logger: Logger
    private let inbox = Mutex<[SidecarSubject: Order]>([:])
    private var pacing = SidecarPacing()
    private var names: [SidecarSubject: [UInt8]] = [:]
    private var timer: Task<Void, Never>?
    /// Subjects whose last write failed.
    private var unwritten: Set<SidecarSubject> = []
    /// Whether any sidecar can't be written.
    var isInTrouble: Bool { !unwritten.isEmpty }

    /// Creates a writer.
    ///
    /// - Parameter writesRejected: whether rejected files get a sidecar with the reason.
    package init(store: SidecarStore, writesRejected: Bool, clock: any Clocks, logger: Logger) {
        self.store = store
        standBesideFiles = store.standBesideFiles
        self.writesRejected = writesRejected
        self.clock = clock
        self.logger = logger
    }

    /// Requests writing a path's sidecar when due.
    package nonisolated func note(_ report: FileReport) {
        // Also removes the `settling` sidecar.
        if report.state == .rejected && !writesRejected { return remove(report.path) }
        order(.write(.file(report)), for: .file(report.path))
    }

    /// Requests checking the sidecar of a path in a final state. A sidecar that a crash prevented is written now.
    package nonisolated func repair(_ report: FileReport) {
        if report.state == .rejected && !writesRejected { return remove(report.path) }
        order(.repair(.file(report)), for: .file(report.path))
    }

    /// Requests removing a path's sidecar.
    package nonisolated func remove(_ path: RelativePath) { order(.remove, for: .file(path)) }

    /// Requests removing a stray, unless a report about its path arrives first.
    package nonisolated func discard(_ stray: StraySidecar) {
        if let subject = stray.subject { return order(.discard(stray), for: subject) }
        thread.run { [store] in store.remove(stray) }
    }

    /// Returns everything that belongs to no file of the outbox. Takes as long as listing the directories.
    package nonisolated func strays(_ files: OutboxFiles, _ rules: IntakeRules, away: Set<RelativePath>)
        -> [StraySidecar]
    {
        SidecarSweep(files: files, store: store, rules: rules).strays(away: away)
    }

    /// Root of the sidecars' tree, unless they stand in the outbox.
    package nonisolated var separateRoot: String? { store.mirrorRoot }

    /// Returns the content of a sidecar, and when it was written.
    package nonisolated func lastWord(of subject: SidecarSubject) -> (word: SidecarWord, written: Int64)? {
        store.lastWord(of: subject)
    }

    /// Whether the path has a sidecar under any name.
    package nonisolated func isThere(for path: RelativePath) -> Bool {
        store.sidecar(of: .file(path), holds: ["\"version\""])
    }

    /// Requests writing a source's sidecar when due. Rejected sources get one too, since the author of a
    /// `source.toml` needs the reason.
    package nonisolated func note(source report: SourceReport) {
        order(.write(.source(report)), for: .source(report.directory))
    }

    /// Requests checking the sidecar of a source in a final state. A sidecar that a crash prevented is written now.
    package nonisolated func repair(source report: SourceReport) {
        order(.repair(.source(report)), for: .source(report.directory))
    }

    /// Requests removing a source's sidecar.
    package nonisolated func remove(source directory: RelativePath) { order(.remove, for: .source(directory)) }

    private nonisolated func order(_ order: Order, for subject: SidecarSubject) {
        let isFirst = inbox.withLock { inbox in
            defer { inbox[subject] = order }
            return inbox.isEmpty
        }
        guard isFirst else { return }
        thread.run { self.assumeIsolated { $0.drain() } }
    }

    /// Drops all waiting writes, because the outbox is another directory.
    package nonisolated func forgetPending() {
        inbox.withLock { $0 = [:] }
        thread.run {
            self.assumeIsolated { writer in
                writer.pacing = SidecarPacing()
                writer.names = [:]
                writer.unwritten = []
            }
        }
    }

    /// Writes everything that waits. Used before the agent ends.
    package func flush() {
        drain()
        for sidecar in pacing.due(now: MonotonicTime(nanoseconds: .max)) { write(sidecar) }
    }

    private func drain() {
        let orders = inbox.withLock { inbox in
            defer { inbox = [:] }
            return inbox
        }
        for (subject, order) in orders {
            switch order {
            case .write(let sidecar):
                if pacing.take(sidecar, now: clock.now.monotonic) { write(sidecar) }
            case .repair(let sidecar):
                if !store.sidecar(of: subject, holds: sidecar.outcome) { write(sidecar) }
            case .remove:
                pacing.forget(subject)
                unwritten.remove(subject)
                store.remove(for: subject, known: names.removeValue(forKey: subject))
            case .discard(let stray):
                store.remove(stray)
            }
        }
        setAlarm()
    }

    /// Writes a sidecar. A failed write is retried later.
    ///
    /// - Returns: whether nothing more remains to do.
    @discardableResult
    private func write(_ sidecar: Sidecar) -> Bool {
        let subject = sidecar.subject
        do {
            let name = try store.write(sidecar.text, for: subject, known: names[subject])
            // The store finds the usual name again, so only another name must be remembered.
            names[subject] = name == SidecarName.name(for: subject.name) ? nil : name
            noteThrough(subject)
        } catch Errno.staleNFSFileHandle {
            // The outbox is absent. The watch reports that, and this sidecar waits for the return of the outbox.
            pacing.failed(sidecar, now: clock.now.monotonic)
            return false
        } catch {
            // A missing directory needs no sidecars: its files are gone too.
            guard [.noSuchFileOrDirectory, .notDirectory].contains(error) else {
                warn(subject, error)
                pacing.failed(sidecar, now: clock.now.monotonic)
                return false
            }
        }
        unwritten.remove(subject)
        pacing.wrote(sidecar, now: clock.now.monotonic)
        return true
    }

    /// Suppresses the "written again" message while any other sidecar still can't be written.
    private func noteThrough(_ subject: SidecarSubject) {
        guard unwritten.remove(subject) != nil, unwritten.isEmpty else { return }
        logger.notice("sidecars can be written again")
    }

    private func warn(_ subject: SidecarSubject, _ error: Errno) {
        let isNew = unwritten.isEmpty
        unwritten.insert(subject)
        guard isNew else { return }
        logger.error(
            "sidecars can't be written; uploads continue; free space, or correct the permissions",
            metadata: ["path": "\(subject)", "reason": "\(error)"])
    }

    private func setAlarm() {
        guard timer == nil, let deadline = pacing.nextDeadline else { return }
        let pause = deadline - clock.now.monotonic
        timer = Task { [weak self] in
            try? await Task.sleep(for: max(pause, .milliseconds(10)))
            await self?.timerFired()
        }
    }

    private func timerFired() {
        timer = nil
        var failures = 0
        for sidecar in pacing.due(now: clock.now.monotonic) {
            if failures >= Self.mostFailures {
                pacing.failed(sidecar, now: clock.now.monotonic)
            } else {
                failures = write(sidecar) ? 0 : failures + 1
            }
        }
        setAlarm()
    }
}
