import LinuxSystem
import Logging
import Synchronization
import SystemPackage
import UploadCore

/// Keeps the sidecars up to date, on a thread of its own, so that a slow disk holds up nothing else.
actor SidecarWriter {
    /// What is to be done for one path; a newer order replaces an older one that was not begun.
    enum Order: Sendable {
        case write(FileReport)
        /// Written only if the sidecar that stands there does not tell this outcome.
        case repair(FileReport)
        case remove
    }

    /// After so many failures in a row the rest is left for the next time: on a full disk they would all fail.
    private static let mostFailures = 16

    private let thread = SerialThread(name: "sidecars")
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let store: SidecarStore
    private let writesRejected: Bool
    private let clock: any Clocks
    private let logger: Logger
    private let inbox = Mutex<[RelativePath: Order]>([:])
    private var pacing = SidecarPacing()
    private var names: [RelativePath: [UInt8]] = [:]
    private var timer: Task<Void, Never>?
    private var isInTrouble = false

    /// A writer.
    ///
    /// - Parameter writesRejected: whether files that are not taken get a sidecar that says so.
    init(store: SidecarStore, writesRejected: Bool, clock: any Clocks, logger: Logger) {
        self.store = store
        self.writesRejected = writesRejected
        self.clock = clock
        self.logger = logger
    }

    /// Asks for the sidecar of the report's path to be written, when its time has come.
    nonisolated func note(_ report: FileReport) {
        // What told that it was seen goes as well.
        if report.state == .rejected && !writesRejected { return remove(report.path) }
        order(.write(report), for: report.path)
    }

    /// Asks for the sidecar of a path in a final state to be looked at, and written where a crash prevented that.
    nonisolated func repair(_ report: FileReport) {
        if report.state == .rejected && !writesRejected { return remove(report.path) }
        order(.repair(report), for: report.path)
    }

    /// Asks for the sidecar of a path to be removed.
    nonisolated func remove(_ path: RelativePath) { order(.remove, for: path) }

    /// Whether a sidecar of the path stands there, under its usual name.
    nonisolated func isThere(for path: RelativePath) -> Bool { store.sidecar(of: path, holds: ["\"version\""]) }

    private nonisolated func order(_ order: Order, for path: RelativePath) {
        let isFirst = inbox.withLock { inbox in
            defer { inbox[path] = order }
            return inbox.isEmpty
        }
        guard isFirst else { return }
        thread.run { self.assumeIsolated { $0.drain() } }
    }

    /// Writes everything that waits; used before the agent ends.
    func flush() {
        drain()
        for report in pacing.due(now: MonotonicTime(nanoseconds: .max)) { write(report) }
    }

    private func drain() {
        let orders = inbox.withLock { inbox in
            defer { inbox = [:] }
            return inbox
        }
        for (path, order) in orders {
            switch order {
            case .write(let report):
                if pacing.take(report, now: clock.now.monotonic) { write(report) }
            case .repair(let report):
                if !store.sidecar(of: path, holds: report.outcome) { write(report) }
            case .remove:
                pacing.forget(path)
                store.remove(for: path, known: names.removeValue(forKey: path))
            }
        }
        setAlarm()
    }

    /// Writes a sidecar; one that can't be written now is tried again.
    ///
    /// - Returns: whether nothing more is to be done about it.
    @discardableResult
    private func write(_ report: FileReport) -> Bool {
        do {
            let name = try store.write(report.sidecarText(), for: report.path, known: names[report.path])
            // The usual name is found again; only another one must be remembered.
            names[report.path] = name == SidecarName.name(for: report.path.name) ? nil : name
            if isInTrouble {
                isInTrouble = false
                logger.notice("sidecars can be written again")
            }
        } catch Errno.noSuchFileOrDirectory {
            // The directory went with its files.
        } catch {
            warn(report.path, error)
            pacing.failed(report, now: clock.now.monotonic)
            return false
        }
        pacing.wrote(report, now: clock.now.monotonic)
        return true
    }

    private func warn(_ path: RelativePath, _ error: Errno) {
        guard !isInTrouble else { return }
        isInTrouble = true
        logger.error(
            "sidecars can't be written; files are uploaded all the same; free space or mend permissions",
            metadata: ["path": "\(path)", "reason": "\(error)"])
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
        for report in pacing.due(now: clock.now.monotonic) {
            if failures >= Self.mostFailures {
                pacing.failed(report, now: clock.now.monotonic)
            } else {
                failures = write(report) ? 0 : failures + 1
            }
        }
        setAlarm()
    }
}
