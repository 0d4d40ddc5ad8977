import LinuxSystem
import Logging
import Synchronization
import SystemPackage
import UploadCore

/// Keeps the sidecars up to date, on a thread of its own, so that a slow disk holds up nothing else.
actor SidecarWriter {
    /// What is to be done for one file or source; a newer order replaces an older one that was not begun.
    enum Order: Sendable {
        case write(Sidecar)
        /// Written only if the sidecar that stands there does not tell this outcome.
        case repair(Sidecar)
        case remove
        /// Removes one file that is the sidecar of a path no more.
        case discard(StraySidecar)
    }

    /// After so many failures in a row the rest is left for the next time: on a full disk they would all fail.
    private static let mostFailures = 16

    private let thread = SerialThread(name: "sidecars")
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let store: SidecarStore
    /// Whether sidecars stand in the outbox, and not in a tree of their own.
    nonisolated let standBesideFiles: Bool
    private let writesRejected: Bool
    private let clock: any Clocks
    private let logger: Logger
    private let inbox = Mutex<[SidecarSubject: Order]>([:])
    private var pacing = SidecarPacing()
    private var names: [SidecarSubject: [UInt8]] = [:]
    private var timer: Task<Void, Never>?
    /// What could not be written when it was tried last.
    private var unwritten: Set<SidecarSubject> = []
    /// Whether there is something that can't be written.
    var isInTrouble: Bool { !unwritten.isEmpty }

    /// A writer.
    ///
    /// - Parameter writesRejected: whether files that are not taken get a sidecar that says so.
    init(store: SidecarStore, writesRejected: Bool, clock: any Clocks, logger: Logger) {
        self.store = store
        standBesideFiles = store.standBesideFiles
        self.writesRejected = writesRejected
        self.clock = clock
        self.logger = logger
    }

    /// Asks for the sidecar of the report's path to be written, when its time has come.
    nonisolated func note(_ report: FileReport) {
        // What told that it was seen goes as well.
        if report.state == .rejected && !writesRejected { return remove(report.path) }
        order(.write(.file(report)), for: .file(report.path))
    }

    /// Asks for the sidecar of a path in a final state to be looked at, and written where a crash prevented that.
    nonisolated func repair(_ report: FileReport) {
        if report.state == .rejected && !writesRejected { return remove(report.path) }
        order(.repair(.file(report)), for: .file(report.path))
    }

    /// Asks for the sidecar of a path to be removed.
    nonisolated func remove(_ path: RelativePath) { order(.remove, for: .file(path)) }

    /// Asks for a stray to be removed, unless something is to be told of its path meanwhile.
    nonisolated func discard(_ stray: StraySidecar) {
        if let subject = stray.subject { return order(.discard(stray), for: subject) }
        thread.run { [store] in store.remove(stray) }
    }

    /// Everything that belongs to no file of the outbox; takes as long as listing its directories.
    nonisolated func strays(_ files: OutboxFiles, _ rules: IntakeRules, away: Set<RelativePath>) -> [StraySidecar] {
        SidecarSweep(files: files, store: store, rules: rules).strays(away: away)
    }

    /// Where the tree of sidecars is, if it is not the outbox.
    nonisolated var separateRoot: String? { store.mirrorRoot }

    /// What the sidecar of a file or source says, and when it was written.
    nonisolated func lastWord(of subject: SidecarSubject) -> (word: SidecarWord, written: Int64)? {
        store.lastWord(of: subject)
    }

    /// Whether a sidecar of the path stands there, under whatever name.
    nonisolated func isThere(for path: RelativePath) -> Bool { store.sidecar(of: .file(path), holds: ["\"version\""]) }

    /// Asks for the sidecar of a source to be written, when its time has come; also where the source is rejected: whoever
    /// writes a `source.toml` wants to know.
    nonisolated func note(source report: SourceReport) {
        order(.write(.source(report)), for: .source(report.directory))
    }

    /// Asks for the sidecar of a source in a final state to be looked at, and written where a crash prevented that.
    nonisolated func repair(source report: SourceReport) {
        order(.repair(.source(report)), for: .source(report.directory))
    }

    /// Asks for the sidecar of a directory's source to be removed.
    nonisolated func remove(source directory: RelativePath) { order(.remove, for: .source(directory)) }

    private nonisolated func order(_ order: Order, for subject: SidecarSubject) {
        let isFirst = inbox.withLock { inbox in
            defer { inbox[subject] = order }
            return inbox.isEmpty
        }
        guard isFirst else { return }
        thread.run { self.assumeIsolated { $0.drain() } }
    }

    /// Forgets what waits to be written: the outbox is another directory.
    nonisolated func forgetPending() {
        inbox.withLock { $0 = [:] }
        thread.run {
            self.assumeIsolated { writer in
                writer.pacing = SidecarPacing()
                writer.names = [:]
                writer.unwritten = []
            }
        }
    }

    /// Writes everything that waits; used before the agent ends.
    func flush() {
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

    /// Writes a sidecar; one that can't be written now is tried again.
    ///
    /// - Returns: whether nothing more is to be done about it.
    @discardableResult
    private func write(_ sidecar: Sidecar) -> Bool {
        let subject = sidecar.subject
        do {
            let name = try store.write(sidecar.text, for: subject, known: names[subject])
            // The usual name is found again; only another one must be remembered.
            names[subject] = name == SidecarName.name(for: subject.name) ? nil : name
            noteThrough(subject)
        } catch Errno.staleNFSFileHandle {
            // The outbox is not there: whoever notices says so, and this waits for its return.
            pacing.failed(sidecar, now: clock.now.monotonic)
            return false
        } catch {
            // A directory that is gone went with its files.
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

    /// Nothing is said of one directory that can be written to as long as another can't.
    private func noteThrough(_ subject: SidecarSubject) {
        guard unwritten.remove(subject) != nil, unwritten.isEmpty else { return }
        logger.notice("sidecars can be written again")
    }

    private func warn(_ subject: SidecarSubject, _ error: Errno) {
        let isNew = unwritten.isEmpty
        unwritten.insert(subject)
        guard isNew else { return }
        logger.error(
            "sidecars can't be written; files are uploaded all the same; free space or mend permissions",
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
