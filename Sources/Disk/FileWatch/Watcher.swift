import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// The watch thread: does everything except reading the kernel's queue, one round after the other.
final class Watcher {
    let options: FileWatch.Options
    let kernel: Kernel
    let probe: WriterProbe
    let monitor: MountMonitor
    /// Makes the calls that may not return.
    let places: OutboxMounts
    var inotify: InotifyQueue?
    /// Why the last attempt to open an inotify instance failed, and when to retry.
    var queueFailure: (error: Errno, retry: MonotonicTime)?
    var tree = WatchTree()
    var settler: Settler
    var pairing = MovePairing()
    var scans: ScanQueue
    var deferred: DeferredDirectories
    var polled = PolledDirectories()
    /// Directories whose file system did not answer.
    var unanswered = UnansweredVisits()
    var mounts = MountBook()
    var mountsMayHaveChanged = true
    var limitsTold: Set<WatchLimit.Cause> = []
    var counters = WatchCounters()
    var overflowsAtLastScan: UInt64 = 0
    let rootPath: String

    private static let batchSize = 1024
    private static let looksPerRound = 256
    private static let sliceTime: Duration = .milliseconds(2)
    private static let rootRetry: Duration = .seconds(1)
    /// Vanishing files may mean that the outbox itself is vanishing: check the outbox well before the files count as
    /// removed.
    private static let rootCheckAfterGone: Duration = .milliseconds(500)

    private let mailbox: Mailbox
    private let handler: @Sendable ([WatchEvent]) -> Void
    private var rootGuard: RootGuard
    private var rootCheck: MonotonicTime?
    private var isRootOpen = false
    private var pollClock: PollClock
    private let board: CounterBoard
    private var isStopped = false
    private(set) var batch: [WatchEvent] = []
    /// Whether the load reached the window, and has not fallen to half of it since.
    private var isFull = false

    init(
        root: String, options: FileWatch.Options, mailbox: Mailbox, monitor: MountMonitor, places: OutboxMounts,
        kernel: Kernel, board: CounterBoard, handler: @escaping @Sendable ([WatchEvent]) -> Void
    ) {
        rootPath = root
        self.options = options
        self.monitor = monitor
        self.places = places
        self.kernel = kernel
        self.board = board
        probe = WriterProbe(fileSystem: kernel.fileSystem)
        pollClock = PollClock(interval: options.pollInterval)
        self.mailbox = mailbox
        self.handler = handler
        rootGuard = RootGuard(path: root, expected: options.expectedRoot)
        deferred = DeferredDirectories(nameLimit: options.nameLimit)
        settler = Settler(settle: options.settle, unknownWriterWait: options.unknownWriterWait)
        scans = ScanQueue(nextFull: Self.now())
    }

    static func now() -> MonotonicTime { MonotonicTime(nanoseconds: bootTimeNanoseconds()) }

    var wakeup: Wakeup { mailbox.wakeup }

    func run() {
        while true {
            obey()
            if isStopped { break }
            round()
            publish()
            deliver()
            if wakeup.sleep(timeout: timeToNextRound(), mounts: monitor) { mountsMayHaveChanged = true }
        }
        inotify?.close()
    }

    /// Queues an event for delivery and counts its path for the full scan.
    func tell(_ event: WatchEvent) {
        switch event {
        case .seen(let path), .ready(let path, _), .odd(let path, _), .renamed(_, let path, isDirectory: false):
            scans.count(path)
        case .gone:
            if rootCheck == nil { rootCheck = Self.now() + Self.rootCheckAfterGone }
        case .unreadable, .unlistable, .renamed, .scanned, .deferring, .overflowed, .watchLimit, .mountLost, .mounted,
            .rootLost,
            .rootBack:
            break
        }
        batch.append(event)
        if batch.count >= Self.batchSize { deliver() }
    }

    /// Reports a limit, unless the limit was reported already.
    func tell(_ cause: WatchLimit.Cause, at directory: RelativePath) {
        guard limitsTold.insert(cause).inserted else { return }
        tell(.watchLimit(WatchLimit(cause, at: directory, setting: kernel.limit)))
    }

    /// Whether the user of the watch may get a new file.
    func hasRoom() -> Bool {
        let load = settler.load + batch.count + options.load.count
        isFull = isFull ? load > options.load.lowMark : load >= options.load.window
        return !isFull
    }

    private func publish() {
        counters.isOutboxThere = isRootOpen
        counters.directories = tree.count
        counters.watches = tree.watchCount
        counters.polled = polled.counts
        counters.deferred = deferred.count
        counters.unanswered = unanswered.count
        counters.lostMounts = mounts.lostCount
        counters.rounds += 1
        board.publish(counters)
    }

    private func deliver() {
        if batch.isEmpty { return }
        handler(batch)
        batch.removeAll(keepingCapacity: true)
    }

    private func obey() {
        for command in mailbox.take() {
            switch command {
            case .rescan: scans.wantFull()
            case .reconsider(let path): _ = settler.note(path, .reconsidered, now: Self.now())
            case .answered:
                mountsMayHaveChanged = true
                unanswered.retry = Self.now()
            case .stop: isStopped = true
            }
        }
    }

    private func round() {
        guard let root = openRoot() else { return }
        takeMounts(below: root)
        takeEvents(below: root)
        giveUpDepartures(below: root)
        lookAtDue(below: root)
        let now = Self.now()
        for visit in unanswered.take(now: now) where tree.contains(visit.id) { scans.push(visit.id, visit.purpose) }
        scans.beginFullIfDue(now: now)
        scan(below: root, until: now + Self.sliceTime)
        poll(now: Self.now())
    }

    /// Opens the outbox for one round; returns nil if the outbox is missing.
    private func openRoot() -> Directory? {
        rootCheck = nil
        isRootOpen = true
        let present = rootGuard
        let opened = try? places.call(.root, "opening") { closer -> (RootGuard, RootGuard.Outcome) in
            var next = present
            let outcome = next.open(closer: closer)
            return (next, outcome)
        }
        if let opened { rootGuard = opened.0 }
        switch opened?.1 ?? .starved {
        case .present(let directory): return directory
        case .back(let directory, let isSame):
            if !isSame { mounts = MountBook() }
            places.refresh()
            mountsMayHaveChanged = true
            tell(.rootBack(isSame: isSame))
            scans.wantFull()
            return directory
        case .lost(let reason):
            forgetEverything()
            tell(.rootLost(reason: reason))
        case .absent, .starved: break
        }
        rootCheck = Self.now() + Self.rootRetry
        isRootOpen = false
        return nil
    }

    private func forgetEverything() {
        // Closing the instance ends every watch and discards the watches' pending events.
        inotify?.close()
        inotify = nil
        tree = WatchTree()
        settler.removeAll()
        pairing = MovePairing()
        scans = ScanQueue(nextFull: Self.now() + options.rescan)
        if !deferred.isEmpty { tell(.deferring(false)) }
        deferred = DeferredDirectories(nameLimit: options.nameLimit)
        polled = PolledDirectories()
        unanswered = UnansweredVisits()
        pollClock.stop()
    }

    private func lookAtDue(below root: Directory) {
        for path in settler.takeDue(now: Self.now(), limit: Self.looksPerRound) {
            let look = look(at: path, below: root)
            if look == .missing { takeMounts(below: root) }
            apply(settler.looked(at: path, look, now: Self.now()), to: path)
        }
    }

    /// Acts on the settler's verdict.
    func apply(_ verdict: Settler.Verdict, to path: RelativePath) {
        switch verdict {
        case .wait, .nothing: break
        case .ready(let status, let unlessKnown):
            if !unlessKnown || !options.isKnown(path, status) { tell(.ready(path, status)) }
        case .odd(let status, let unlessKnown):
            if !unlessKnown || !options.isKnown(path, status) { tell(.odd(path, status)) }
        case .gone: tellGone(path)
        case .unreadable(let error): tell(.unreadable(path, error))
        case .directory:
            if let parent = tree.find(path.parent) { discover(Array(path.name), in: parent, .fresh) }
        }
    }

    /// Reports a name as gone, unless its file system is missing.
    func tellGone(_ path: RelativePath) {
        if !mounts.isLost(path) { tell(.gone(path)) }
    }

    /// Examines a path.
    private func look(at path: RelativePath, below root: Directory) -> Look {
        (try? places.call(path, "looking at") { [probe] _ in probe.look(at: path.bytes, in: root) }) ?? .starved
    }

    /// Returns the status of a path.
    ///
    /// - Throws: `Errno`; `.timedOut` if the file system does not answer.
    func status(of path: RelativePath, below root: Directory) throws(Errno) -> FileStatus {
        try places.call(path, "finding") { _ throws(Errno) in try root.status(path.bytes) }
    }

    private func poll(now: MonotonicTime) {
        if pollClock.isRunning && !scans.isPolling { pollClock.finish(now: now) }
        if polled.isEmpty { return pollClock.stop() }
        pollClock.wind(now: now)
        guard pollClock.begin(now: now) else { return }
        counters.polls += 1
        polled.keep { tree.contains($0) }
        for id in polled.ids { scans.push(id, .poll) }
    }

    private func timeToNextRound() -> Duration? {
        if isStopped { return .zero }
        let now = Self.now()
        let deadlines: [MonotonicTime?]
        if !isRootOpen {
            deadlines = [rootCheck]
        } else if !scans.isAtRest || scans.awaited.map(deferred.isDone) == true {
            return .zero
        } else {
            let nextScan = scans.summary == nil ? scans.nextFull : nil
            deadlines = [
                rootCheck, settler.deadline, pairing.deadline, nextScan, pollClock.due, catchUpDue(now: now),
                unanswered.retry,
            ]
        }
        return deadlines.compactMap { $0 }.min().map { $0 - now }
    }
}
