import AgentConfiguration
import Clocks
import Ledger
import LinuxSystem
import Logging
import Reports
import Synchronization
import Text
import Transport
import UploadCore

/// Delivers the journal to one hook. A thread of its own calls the hook, so it delays neither uploads nor other hooks.
actor HookRunner {
    /// What the hooks share.
    struct Parts: Sendable {
        var ledger: Ledger
        var transport: any HTTPTransport
        var environment: [String: String]
        /// The longest pause between two attempts (`upload.retry_interval`).
        var ceiling: Duration
        var clock: any Clocks
        var logger: Logger
    }

    private static let page = 512

    private let thread: SerialThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    nonisolated let hook: Configuration.Hook
    private let parts: Parts
    private let journalID: String
    private var queue: HookQueue
    private var alarm = Alarm()
    /// Whether a call or a commit is under way.
    private var isBusy = false
    private let isWoken = Atomic(false)
    private let isEnding = Atomic(false)
    /// Readable while the thread is busy.
    private let shown: Mutex<HookQueue>

    init(_ hook: Configuration.Hook, _ parts: Parts) throws(LedgerError) {
        (self.hook, self.parts) = (hook, parts)
        thread = SerialThread(name: "hook \(hook.name)")
        journalID = try parts.ledger.journalID()
        let stored = try parts.ledger.setting(LedgerSetting.hook(hook.name))
        let end = try parts.ledger.journalEnd()
        // A new hook is told of what comes from now on.
        let cursor = stored.map { $0.reduce(0) { $0 << 8 | UInt64($1) } } ?? end
        queue = HookQueue(hook, cursor: min(cursor, end), ceiling: parts.ceiling, seed: .random(in: .min ... .max))
        shown = Mutex(queue)
        if stored == nil { parts.ledger.commit([Self.position(hook, cursor)]) {} }
    }

    private static func position(_ hook: Configuration.Hook, _ number: UInt64) -> LedgerWrite {
        .setting(LedgerSetting.hook(hook.name), withUnsafeBytes(of: number.bigEndian) { Array($0) })
    }

    nonisolated var status: HookStatus {
        let queue = shown.withLock(\.self)
        var status = HookStatus(name: hook.name)
        status.delivered = queue.delivered
        status.givenUp = queue.givenUp
        // The thread may not know yet how far the journal has grown.
        status.waiting = queue.waiting(end: (try? parts.ledger.journalEnd()) ?? queue.cursor)
        status.failures = queue.allFailures
        status.error = queue.lastError
        status.nextAttemptAt = queue.nextAttempt.map { Timestamp.text($0.wall) }
        return status
    }

    /// Since when the calls fail.
    nonisolated var failingSince: MonotonicTime? { shown.withLock(\.failingSince) }

    /// The first row that the hook may still need.
    nonisolated var firstNeeded: UInt64 { shown.withLock(\.cursor) + 1 }

    /// The journal may have grown, or the time may have come.
    nonisolated func wake() {
        if isWoken.exchange(true, ordering: .relaxed) { return }
        thread.run {
            self.assumeIsolated {
                $0.isWoken.store(false, ordering: .relaxed)
                $0.work()
            }
        }
    }

    /// The cause of failures may be gone.
    nonisolated func hurry() {
        thread.run {
            self.assumeIsolated {
                $0.queue.hurry()
                $0.work()
            }
        }
    }

    /// Begins no further call.
    nonisolated func stop() { isEnding.store(true, ordering: .relaxed) }

    // MARK: Work

    private func work() {
        defer { show() }
        while !isBusy, !isEnding.load(ordering: .relaxed) {
            let end: UInt64
            do throws(LedgerError) {
                end = try parts.ledger.journalEnd()
                switch queue.next(end: end, now: parts.clock.now) {
                case .read(let number):
                    let entries = try parts.ledger.journal(after: number, atMost: Self.page)
                    for own in queue.take(entries, end: end, now: parts.clock.now) {
                        parts.logger.notice(
                            "a hook is not told of the file that it wrote",
                            metadata: ["hook": "\(hook.name)", "path": "\(own.row.path.description)"])
                    }
                case .store(let number): store(number)
                case .call(let entries): call(entries)
                case .wait(let time):
                    if let time { ring(at: time) }
                    return
                }
            } catch {
                parts.logger.error(
                    "a hook can't read the journal", metadata: ["hook": "\(hook.name)", "reason": "\(error)"])
                return ring(at: parts.clock.now.monotonic + .seconds(60))
            }
        }
    }

    private func ring(at time: MonotonicTime) {
        alarm.set(for: time, now: parts.clock.now.monotonic) { [weak self] in await self?.rang() }
    }

    private func rang() {
        alarm.rang()
        work()
    }

    private func store(_ number: UInt64) {
        isBusy = true
        queue.stored(number)
        parts.ledger.commit([Self.position(hook, number)]) { [weak self] in
            guard let self else { return }
            self.thread.run { self.assumeIsolated { $0.resume() } }
        }
    }

    private func resume() {
        isBusy = false
        work()
    }

    private func call(_ entries: [JournalEntry]) {
        let journal = Journal(ledger: journalID, entries: entries)
        guard let first = entries.first else { return }
        let lines = entries.flatMap { journal.json($0) + [UInt8(ascii: "\n")] }
        queue.begin(now: parts.clock.now)
        deliver(lines, id: journal.id(first)) { $0.end(with: $1) }
    }

    /// Calls the hook, and handles its reply on this thread.
    private func deliver(
        _ lines: [UInt8], id: String, _ handle: @escaping @Sendable (isolated HookRunner, HookReply) -> Void
    ) {
        switch hook.call {
        case .run(let words):
            handle(
                self,
                HookProgram(words: words, timeout: hook.timeout, environment: parts.environment).call(lines, id: id))
        case .post(let url, let secretFile):
            isBusy = true
            let address = HookAddress(
                url: url, secretFile: secretFile, timeout: hook.timeout, isList: hook.batch > 1,
                transport: parts.transport)
            Task {
                let reply = await address.call(lines, id: id, now: parts.clock.now.wall)
                isBusy = false
                handle(self, reply)
            }
        }
    }

    private func end(with reply: HookReply) {
        let cursor = queue.cursor
        queue.end(reply.end, written: reply.written, now: parts.clock.now)
        log(reply)
        if queue.cursor > cursor { store(queue.cursor) } else { work() }
    }

    private func log(_ reply: HookReply) {
        var metadata: Logger.Metadata = ["hook": "\(hook.name)"]
        switch reply.end {
        case .delivered: parts.logger.debug("a hook was called", metadata: metadata)
        case .refused(let reason):
            metadata["reason"] = "\(reason)"
            parts.logger.warning("a hook refused outcomes for good; the agent gives them up", metadata: metadata)
        case .failed(let reason, _):
            metadata["reason"] = "\(reason)"
            // Once at the beginning, then rarely.
            let level: Logger.Level = queue.failures == 1 || queue.failures % 20 == 0 ? .warning : .debug
            parts.logger.log(level: level, "a hook failed; the agent calls it again", metadata: metadata)
        }
    }

    private func show() { shown.withLock { $0 = queue } }

    // MARK: For people

    /// Sends a made-up outcome, and returns what came back.
    func test() async -> HookTest {
        var row = JournalRow(
            time: parts.clock.now.wall, subject: .file, outcome: .done,
            path: RelativePath("test/beach.jpg") ?? .root)
        row.key = ContentKey(high: 0xd41d_8cd9_8f00_b204, low: 0xe980_0998_ecf8_427e)
        row.size = 0
        row.type = "image/jpeg"
        let journal = Journal(ledger: journalID)
        let line = journal.json(JournalEntry(number: 0, row: row), isTest: true) + [UInt8(ascii: "\n")]
        let id = "\(journalID)-test"
        let reply: HookReply
        switch hook.call {
        case .run(let words):
            reply = HookProgram(words: words, timeout: hook.timeout, environment: parts.environment).call(line, id: id)
        case .post(let url, let secretFile):
            reply = await HookAddress(
                url: url, secretFile: secretFile, timeout: hook.timeout, isList: hook.batch > 1,
                transport: parts.transport
            )
            .call(line, id: id, now: parts.clock.now.wall)
        }
        return HookTest(delivered: reply.end == .delivered, answer: reply.text)
    }

    /// Gives up everything that waits.
    func skip() async {
        let end = (try? parts.ledger.journalEnd()) ?? queue.cursor
        queue.skip(to: end)
        await parts.ledger.commit([Self.position(hook, end)])
        work()
    }
}
