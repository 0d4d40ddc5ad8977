import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// The watch thread: everything but reading the kernel's queue happens here, one round after the other.
final class Watcher {
    let options: FileWatch.Options
    let openQueue: InotifyQueue.Opener
    var inotify: InotifyQueue?
    var tree = WatchTree()
    var settler: Settler
    var pairing = MovePairing()
    var scans: ScanQueue
    /// Directories that have no watch and are polled.
    var polled: Set<WatchTree.ID> = []
    var isLimitTold = false

    private static let batchSize = 1024
    private static let looksPerRound = 256
    private static let sliceTime: Duration = .milliseconds(2)
    private static let rootRetry: Duration = .seconds(1)
    /// Files that vanish may be the outbox vanishing: looked for well before anybody takes them for removed.
    private static let rootCheckAfterGone: Duration = .milliseconds(500)

    private let mailbox: Mailbox
    private let handler: @Sendable ([WatchEvent]) -> Void
    private var rootGuard: RootGuard
    private var rootCheck: MonotonicTime?
    private var isRootOpen = false
    private var nextPoll: MonotonicTime?
    private var isStopped = false
    private var batch: [WatchEvent] = []

    init(
        root: String, options: FileWatch.Options, mailbox: Mailbox, openQueue: @escaping InotifyQueue.Opener,
        handler: @escaping @Sendable ([WatchEvent]) -> Void
    ) {
        self.options = options
        self.openQueue = openQueue
        self.mailbox = mailbox
        self.handler = handler
        rootGuard = RootGuard(path: root)
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
            deliver()
            wakeup.sleep(timeout: timeToNextRound())
        }
        inotify?.close()
    }

    /// Tells of an event; the full scan counts what is there.
    func tell(_ event: WatchEvent) {
        switch event {
        case .seen(let path), .ready(let path, _), .odd(let path, _), .renamed(_, let path, isDirectory: false):
            scans.count(path)
        case .gone:
            if rootCheck == nil { rootCheck = Self.now() + Self.rootCheckAfterGone }
        case .unreadable, .renamed, .scanned, .overflowed, .watchLimit, .rootLost, .rootBack: break
        }
        batch.append(event)
        if batch.count >= Self.batchSize { deliver() }
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
            case .stop: isStopped = true
            }
        }
    }

    private func round() {
        guard let root = openRoot() else { return }
        takeEvents(below: root)
        giveUpDepartures(below: root)
        lookAtDue(below: root)
        let now = Self.now()
        scans.beginFullIfDue(now: now)
        scan(below: root, until: now + Self.sliceTime)
        pollUnwatched(now: Self.now())
    }

    /// Opens the outbox for one round; nil when it is not there.
    private func openRoot() -> Directory? {
        rootCheck = nil
        isRootOpen = true
        switch rootGuard.open() {
        case .present(let directory): return directory
        case .back(let directory, let isSame):
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
        // Closing the instance ends every watch and discards the events that still come from them.
        inotify?.close()
        inotify = nil
        tree = WatchTree()
        settler.removeAll()
        pairing = MovePairing()
        scans = ScanQueue(nextFull: Self.now() + options.rescan)
        polled = []
    }

    private func lookAtDue(below root: Directory) {
        for path in settler.takeDue(now: Self.now(), limit: Self.looksPerRound) {
            let look = WriterProbe.look(at: path.bytes, in: root)
            apply(settler.looked(at: path, look, now: Self.now()), to: path)
        }
    }

    /// Acts on what the settler decided.
    func apply(_ verdict: Settler.Verdict, to path: RelativePath) {
        switch verdict {
        case .wait, .nothing: break
        case .ready(let status, let unlessKnown):
            if !unlessKnown || !options.isKnown(path, status) { tell(.ready(path, status)) }
        case .odd(let status, let unlessKnown):
            if !unlessKnown || !options.isKnown(path, status) { tell(.odd(path, status)) }
        case .gone: tell(.gone(path))
        case .unreadable(let error): tell(.unreadable(path, error))
        case .directory:
            if let parent = tree.find(path.parent) { discover(Array(path.name), in: parent, .fresh) }
        }
    }

    private func pollUnwatched(now: MonotonicTime) {
        if polled.isEmpty {
            nextPoll = nil
        } else if let due = nextPoll {
            guard due <= now, scans.isIdle else { return }
            for id in polled { scans.push(id, .poll) }
            nextPoll = now + options.pollInterval
        } else {
            nextPoll = now + options.pollInterval
        }
    }

    private func timeToNextRound() -> Duration? {
        if isStopped { return .zero }
        let deadlines: [MonotonicTime?]
        if !isRootOpen {
            deadlines = [rootCheck]
        } else if !scans.isIdle || scans.isFullWanted {
            return .zero
        } else {
            deadlines = [rootCheck, settler.deadline, pairing.deadline, scans.nextFull, nextPoll]
        }
        return deadlines.compactMap { $0 }.min().map { $0 - Self.now() }
    }
}
