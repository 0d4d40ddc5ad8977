package import Clocks
package import Intake
import LinuxSystem
package import Logging
package import Reports
import Synchronization
import SystemPackage
package import UploadCore

/// Keeps the sidecars up to date. A separate thread keeps slow disks from delaying other work.
package actor SidecarWriter {
    /// After this many failures in a row, the rest waits: on a full disk all writes would fail.
    private static let mostFailures = 16

    /// Directories stay open for this long while one sidecar follows another. An open directory keeps its file system
    /// from being unmounted.
    private static let turn = Duration.milliseconds(50)
    private static let mostDirectories = 8

    /// A part of every sidecar.
    private static let anyText = ["\"version\""]

    private struct Waiting {
        var queue = SidecarQueue()
        /// When the thread looks at the queue next.
        var wakesAt = MonotonicTime(nanoseconds: .max)
        /// The number of outboxes before the present one.
        var outbox = 0
    }

    private let thread = SerialThread(name: "sidecars")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let store: SidecarStore
    /// Whether sidecars stand in the outbox rather than in a separate tree.
    package nonisolated let standBesideFiles: Bool
    private let writesRejected: Bool
    private let clock: any Clocks
    private let logger: Logger
    private let onTrouble: @Sendable (String?) -> Void
    private let waiting = Mutex(Waiting())
    private var alarm = Alarm()
    private var directories: [RelativePath: Directory] = [:]
    private var names: [SidecarSubject: [UInt8]] = [:]
    /// The outbox of `directories`, `names` and `unwritten`.
    private var outbox = 0
    private var failures = 0
    /// What to call once no check is left.
    private var onceChecked: [@Sendable () -> Void] = []
    /// Subjects whose last write failed.
    private var unwritten: Set<SidecarSubject> = []
    /// Whether any sidecar can't be written.
    var isInTrouble: Bool { !unwritten.isEmpty }

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - writesRejected: whether rejected files get a sidecar with the reason.
    ///   - onTrouble: called with a message for people when sidecars can't be written, with `nil` when they can again.
    package init(
        store: SidecarStore, writesRejected: Bool, clock: any Clocks, logger: Logger,
        onTrouble: @escaping @Sendable (String?) -> Void = { _ in }
    ) {
        self.store = store
        standBesideFiles = store.standBesideFiles
        self.writesRejected = writesRejected
        self.clock = clock
        self.logger = logger
        self.onTrouble = onTrouble
    }

    /// Requests writing a path's sidecar when due.
    package nonisolated func note(_ report: FileReport) {
        // Also removes the `settling` sidecar.
        if report.state == .rejected && !writesRejected { return remove(report.path) }
        order(.write(.file(report)), for: .file(report.path))
    }

    /// Requests checking the sidecar of a path. A sidecar that a crash prevented is written now. Of a path that waits, any
    /// sidecar will do.
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

    /// Returns what belongs to no file of the outbox, and files without a sidecar. Takes as long as listing the
    /// directories.
    ///
    /// - Parameter state: returns the final state of a path; `nil` if the path has none.
    package nonisolated func sweep(
        _ files: OutboxFiles, _ rules: IntakeRules, away: Set<RelativePath>, state: (RelativePath) -> FileState?
    ) -> SidecarSweep.Findings {
        SidecarSweep(files: files, store: store, rules: rules).findings(away: away) { path in
            state(path).map { $0 != .rejected || writesRejected } ?? false
        }
    }

    /// Root of the sidecars' tree, unless they stand in the outbox.
    package nonisolated var separateRoot: String? { store.mirrorRoot }

    /// Returns the content of a sidecar, and when it was written.
    package nonisolated func lastWord(of subject: SidecarSubject) -> (word: SidecarWord, written: Int64)? {
        store.lastWord(of: subject)
    }

    /// Whether the path has a sidecar under any name.
    package nonisolated func isThere(for path: RelativePath) -> Bool {
        store.sidecar(of: .file(path), holds: Self.anyText)
    }

    /// Where and for which files sidecars stand, as one line of text.
    package nonisolated var kind: String { "\(writesRejected ? "all" : "accepted") \(store.mirrorRoot ?? "")" }

    /// Calls `body` on the writer's thread once all requested checks (`repair`) are done.
    package nonisolated func onceChecked(_ body: @escaping @Sendable () -> Void) {
        thread.run {
            self.assumeIsolated { writer in
                writer.onceChecked.append(body)
                writer.work()
            }
        }
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

    private nonisolated func order(_ order: SidecarOrder, for subject: SidecarSubject) {
        let now = clock.now.monotonic
        let mustWake = waiting.withLock { waiting in
            waiting.queue.add(order, for: subject, now: now)
            guard let deadline = waiting.queue.nextDeadline, deadline < waiting.wakesAt else { return false }
            waiting.wakesAt = deadline
            return true
        }
        if mustWake { thread.run { self.assumeIsolated { $0.work() } } }
    }

    /// Drops all waiting writes, because the outbox is another directory.
    package nonisolated func forgetPending() {
        waiting.withLock { waiting in
            waiting.queue = SidecarQueue()
            waiting.outbox += 1
        }
    }

    /// Writes everything that waits. Used before the agent ends.
    ///
    /// - Returns: whether every sidecar is written.
    @discardableResult
    package func flush() -> Bool {
        let (jobs, outbox) = waiting.withLock { ($0.queue.takeAll(), $0.outbox) }
        enter(outbox)
        for job in jobs { perform(job) }
        // Sets the alarm for failed writes.
        work()
        return !isInTrouble && waiting.withLock { $0.queue.isAtRest }
    }

    /// Carries out what is due.
    private func work() {
        let end = clock.now.monotonic + Self.turn
        while let job = nextJob() {
            perform(job)
            if clock.now.monotonic >= end {
                directories = [:]
                return thread.run { self.assumeIsolated { $0.work() } }
            }
        }
        directories = [:]
    }

    /// Returns the next order that is due. If there is none, sets the alarm.
    private func nextJob() -> SidecarQueue.Job? {
        let now = clock.now.monotonic
        let (job, deadline, outbox) = waiting.withLock { waiting in
            let job = waiting.queue.next(now: now)
            let deadline = job == nil ? waiting.queue.nextDeadline : now
            waiting.wakesAt = deadline ?? MonotonicTime(nanoseconds: .max)
            return (job, deadline, waiting.outbox)
        }
        enter(outbox)
        if job == nil {
            // Checks are always due, so none is left.
            for body in onceChecked { body() }
            onceChecked = []
        }
        if job == nil, let deadline {
            alarm.set(for: deadline, now: now) { [weak self] in await self?.ring() }
        }
        return job
    }

    /// Lets go of what belongs to a former outbox.
    private func enter(_ outbox: Int) {
        guard outbox != self.outbox else { return }
        self.outbox = outbox
        directories = [:]
        names = [:]
        if unwritten.isEmpty { return }
        unwritten = []
        onTrouble(nil)
    }

    private func ring() {
        alarm.rang()
        work()
    }

    private func perform(_ job: SidecarQueue.Job) {
        switch job.order {
        case .write(let sidecar): write(sidecar, job)
        case .repair(let sidecar):
            if store.sidecar(of: job.subject, holds: sidecar.state.isFinal ? sidecar.outcome : Self.anyText) {
                wrote(sidecar, digest: nil)
            } else {
                write(sidecar, job)
            }
        case .remove:
            _ = endsTrouble(job.subject)
            store.remove(
                for: job.subject, known: names.removeValue(forKey: job.subject),
                in: directories[job.subject.directory])
        case .discard(let stray):
            _ = endsTrouble(job.subject)
            store.remove(stray)
        }
    }

    /// Writes a sidecar. A failed write is retried later.
    private func write(_ sidecar: Sidecar, _ job: SidecarQueue.Job) {
        let subject = job.subject
        let text = sidecar.text
        let digest = Sidecar.digest(of: text)
        if job.written == digest { return wrote(sidecar, digest: digest) }
        do {
            let name = try write(text, for: subject, replaces: job.replaces)
            // The store finds the usual name again, so only another name must be remembered.
            if name != SidecarName.name(for: subject.name) {
                names[subject] = name
            } else if !names.isEmpty {
                names[subject] = nil
            }
            noteThrough(subject)
        } catch  where error == .staleNFSFileHandle || error == .timedOut {
            // The outbox or a mount is absent, or does not answer. The watch reports that, and this sidecar waits.
            return failed(sidecar)
        } catch {
            // A missing directory needs no sidecars: its files are gone too.
            guard [.noSuchFileOrDirectory, .notDirectory].contains(error) else {
                warn(subject, error)
                return failed(sidecar)
            }
        }
        wrote(sidecar, digest: digest)
    }

    private func write(_ text: [UInt8], for subject: SidecarSubject, replaces: Bool) throws(Errno) -> [UInt8] {
        let place = subject.directory
        if let directory = directories[place] {
            do throws(Errno) {
                return try store.write(text, for: subject, known: names[subject], replaces: replaces, in: directory)
            } catch {
                // Another directory may have taken its place.
                if error != .noSuchFileOrDirectory { throw error }
            }
        }
        if directories.count >= Self.mostDirectories { directories = [:] }
        let directory = try store.open(place)
        directories[place] = directory
        return try store.write(text, for: subject, known: names[subject], replaces: replaces, in: directory)
    }

    /// Notes that the right text is in place, or that none is needed. An earlier attempt may have failed.
    private func wrote(_ sidecar: Sidecar, digest: Int?) {
        _ = endsTrouble(sidecar.subject)
        failures = 0
        let now = clock.now.monotonic
        waiting.withLock { $0.queue.wrote(sidecar, digest: digest, now: now) }
    }

    private func failed(_ sidecar: Sidecar) {
        failures += 1
        let now = clock.now.monotonic
        waiting.withLock { waiting in
            waiting.queue.failed(sidecar, now: now)
            if failures >= Self.mostFailures { waiting.queue.stall(now: now) }
        }
        if failures >= Self.mostFailures { failures = 0 }
    }

    /// Suppresses the "written again" message while any other sidecar still can't be written.
    private func noteThrough(_ subject: SidecarSubject) {
        if endsTrouble(subject) { logger.notice("sidecars can be written again") }
    }

    /// Removes a subject from `unwritten`.
    ///
    /// - Returns: whether it was the last one.
    private func endsTrouble(_ subject: SidecarSubject) -> Bool {
        guard unwritten.remove(subject) != nil, unwritten.isEmpty else { return false }
        onTrouble(nil)
        return true
    }

    private func warn(_ subject: SidecarSubject, _ error: Errno) {
        let isNew = unwritten.isEmpty
        unwritten.insert(subject)
        guard isNew else { return }
        let message = "sidecars can't be written; uploads continue; free space, or correct the permissions"
        logger.error("\(message)", metadata: ["path": "\(subject)", "reason": "\(error)"])
        onTrouble("\(message) (\(subject): \(error))")
    }
}

/// What to do with one sidecar.
enum SidecarOrder: Sendable {
    case write(Sidecar)
    /// Writes the sidecar only if there is none, or if the existing one does not show this outcome.
    case repair(Sidecar)
    case remove
    /// Removes a file that is no longer the sidecar of a path.
    indirect case discard(StraySidecar)
}
