import AgentConfiguration
import TestSupport
import Testing
import UploadCore

@testable import Hooks

@Suite("The queue of a hook")
struct HookQueueTests {
    private static let start = Now(
        monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000), wall: WallTime(milliseconds: 1_800_000_000_000))

    private static func later(_ duration: Duration) -> Now {
        Now(monotonic: start.monotonic + duration, wall: start.wall.advanced(by: duration))
    }

    private func queue(_ change: (inout Configuration.Hook) -> Void = { _ in }) -> HookQueue {
        var hook = Configuration.Hook(name: "publish", call: .run(["/bin/true"]))
        change(&hook)
        return HookQueue(hook, cursor: 0, ceiling: .seconds(60), seed: 1)
    }

    private func entry(
        _ number: UInt64, _ outcome: JournalRow.Outcome = .done, _ subject: JournalRow.Subject = .file,
        at time: WallTime = start.wall
    ) throws -> JournalEntry {
        var row = JournalRow(
            time: time, subject: subject, outcome: outcome, path: try #require(RelativePath("\(number).jpg")))
        row.key = ContentKey(high: number, low: 1)
        row.size = 5000
        return JournalEntry(number: number, row: row)
    }

    /// Reads rows and returns what the queue wants then.
    private func read(_ queue: inout HookQueue, _ entries: [JournalEntry], at now: Now = start) -> HookQueue.Next {
        let end = entries.last?.number ?? 0
        _ = queue.take(entries, end: end, now: now)
        return queue.next(end: end, now: now)
    }

    @Test("calls with one outcome at a time, in order, and passes over those that the hook does not want")
    func order() throws {
        var queue = queue { $0.events = [.done, .post] }
        let entries = [try entry(1), try entry(2, .failed), try entry(3, .done, .post), try entry(4, .done, .portrait)]
        #expect(queue.next(end: 4, now: Self.start) == .read(after: 0))
        #expect(read(&queue, entries) == .call([entries[0]]))
        queue.begin(now: Self.start)
        queue.end(.delivered, now: Self.start)
        #expect(queue.cursor == 1)
        #expect(queue.next(end: 4, now: Self.start) == .read(after: 1))
        #expect(read(&queue, Array(entries[1...])) == .call([entries[2]]))
        queue.begin(now: Self.start)
        queue.end(.delivered, now: Self.start)
        #expect(read(&queue, [entries[3]]) == .wait(until: nil))
        #expect(queue.delivered == 2 && queue.waiting(end: 4) == 0)
    }

    @Test("waits for others of the same call, no longer than the window")
    func batch() throws {
        var queue = queue { ($0.batch, $0.window) = (3, .seconds(10)) }
        let first = try entry(1)
        #expect(read(&queue, [first]) == .wait(until: Self.later(.seconds(10)).monotonic))
        #expect(queue.next(end: 1, now: Self.later(.seconds(10))) == .call([first]))
        let more = [try entry(2), try entry(3), try entry(4)]
        #expect(read(&queue, more) == .call([first] + more.prefix(2)))
    }

    @Test("tries the same outcomes again after a failure, with growing pauses, and counts them as waiting")
    func failure() throws {
        var queue = queue()
        let entries = [try entry(1), try entry(2)]
        _ = read(&queue, entries)
        queue.begin(now: Self.start)
        queue.end(.failed("exit code 1", retryAfter: nil), now: Self.start)
        guard case .wait(let time?) = queue.next(end: 2, now: Self.start) else {
            Issue.record("no pause")
            return
        }
        #expect(time - Self.start.monotonic <= .seconds(1))
        #expect(queue.next(end: 2, now: Self.later(.seconds(1))) == .call([entries[0]]))
        #expect(queue.cursor == 0 && queue.lastError == "exit code 1" && queue.failingSince == Self.start.monotonic)
        #expect(queue.waiting(end: 2) == 2)
        queue.begin(now: Self.start)
        queue.end(.failed("503", retryAfter: .seconds(30)), now: Self.start)
        #expect(queue.next(end: 2, now: Self.later(.seconds(29))) == .wait(until: Self.later(.seconds(30)).monotonic))
        queue.hurry()
        #expect(queue.next(end: 2, now: Self.start) == .call([entries[0]]))
        queue.begin(now: Self.start)
        queue.end(.delivered, now: Self.start)
        #expect(queue.failingSince == nil && queue.lastError == nil && queue.failures == 0)
    }

    @Test("gives up what the hook refuses for good, and what is older than keep, and counts it")
    func givenUp() throws {
        var queue = queue { $0.keep = .seconds(60) }
        let old = try entry(1, at: Self.start.wall.advanced(by: .seconds(-61)))
        let new = try entry(2)
        #expect(read(&queue, [old, new]) == .call([new]))
        #expect(queue.givenUp == 1)
        queue.begin(now: Self.start)
        queue.end(.refused("exit code 78"), now: Self.start)
        #expect(queue.givenUp == 2 && queue.cursor == 2 && queue.lastError == "exit code 78")
        #expect(read(&queue, [try entry(3)]) == .call([try entry(3)]))
        queue.begin(now: Self.start)
        queue.end(.failed("down", retryAfter: nil), now: Self.later(.seconds(61)))
        #expect(queue.givenUp == 3 && queue.cursor == 3)
    }

    @Test("stores its position now and then, though the hook wants none of the rows")
    func position() throws {
        var queue = queue { $0.events = [.trouble] }
        for page in 0..<8 {
            let entries = try (1...512).map { try entry(UInt64(page * 512 + $0)) }
            _ = queue.take(entries, end: 5000, now: Self.start)
        }
        _ = queue.take([], end: 4096, now: Self.start)
        #expect(queue.next(end: 4096, now: Self.start) == .store(4096))
        queue.stored(4096)
        #expect(queue.next(end: 4096, now: Self.start) == .wait(until: nil))
    }

    @Test(
        "does not call for a file that the hook wrote within its call",
        arguments: [
            // A copy of what the call was about.
            (1, 5000, 0, 1, true),
            // As many bytes as the hook wrote.
            (9, 5000, 7100, 1, true),
            // The hook wrote nothing but a log, or much more than this file.
            (9, 5000, 1000, 1, false), (9, 5000, 900_000, 1, false),
            // A copy of the file that the hook was called for, written to another place: of 60,000 bytes.
            (9, 60_000, 62_100, 1, false), (9, 58_000, 62_100, 1, false),
            // The file came before the call, or after it.
            (1, 5000, 7100, -1, false), (1, 5000, 7100, 10, false),
        ] as [(UInt64, UInt64, UInt64, Int64, Bool)])
    func own(key: UInt64, size: UInt64, written: UInt64, second: Int64, isOwn: Bool) throws {
        var queue = queue()
        var first = try entry(1)
        first.row.size = 60_000
        _ = read(&queue, [first])
        queue.begin(now: Self.start)
        queue.end(.delivered, written: written, now: Self.later(.seconds(5)))
        var next = try entry(2)
        next.row.key = ContentKey(high: key, low: 1)
        next.row.size = size
        next.row.taken = Self.start.wall.advanced(by: .seconds(second))
        let wanted = read(&queue, [next], at: Self.later(.seconds(20)))
        #expect(wanted == (isOwn ? .wait(until: nil) : .call([next])))
    }

    @Test("ends a chain of calls for files of the call before, but no camera's", arguments: [false, true])
    func chain(isCamera: Bool) throws {
        var queue = queue()
        var calls = 0
        var now = Self.start
        var came = now.wall
        for number in 1...100 as ClosedRange<UInt64> {
            var next = try entry(number, at: now.wall)
            next.row.taken = came
            var todo = read(&queue, [next], at: now)
            var pause: WallTime?
            if case .wait(let time?) = todo {
                pause = now.wall.advanced(by: .seconds(30))
                now = Now(monotonic: time, wall: now.wall.advanced(by: .seconds(60)))
                todo = queue.next(end: number, now: now)
            }
            guard case .call = todo else { break }
            calls += 1
            queue.begin(now: now)
            let during = now.wall.advanced(by: .seconds(2))
            // The next file came during the call. That of a camera came as soon as the calls paused.
            came = isCamera ? pause ?? during : during
            now = Now(monotonic: now.monotonic + .seconds(5), wall: now.wall.advanced(by: .seconds(5)))
            queue.end(.delivered, written: 0, now: now)
        }
        #expect(isCamera ? calls == 100 : (20...40).contains(calls))
    }

    @Test("delivers each wanted outcome at least once, in order, over random failures and kills", arguments: 1...8)
    func history(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        var journal: [JournalEntry] = []
        var delivered: [UInt64] = []
        var stored: UInt64 = 0
        var kills = 0
        var calls = 0
        func fresh() -> HookQueue {
            var hook = Configuration.Hook(name: "publish", call: .run(["/bin/true"]))
            (hook.batch, hook.window) = (3, .seconds(1))
            return HookQueue(hook, cursor: stored, ceiling: .seconds(60), seed: UInt64(seed))
        }
        var queue = fresh()
        var seconds: Int64 = 0
        for step in 0..<4000 {
            if step < 3000, Int.random(in: 0..<4, using: &random) == 0 {
                journal.append(
                    try entry(
                        UInt64(journal.count + 1), Bool.random(using: &random) ? .done : .cancelled,
                        at: Self.later(.seconds(seconds)).wall))
            }
            if step < 3000, Int.random(in: 0..<50, using: &random) == 0 {
                queue = fresh()
                kills += 1
            }
            let now = Self.later(.seconds(seconds))
            let end = UInt64(journal.count)
            switch queue.next(end: end, now: now) {
            case .read(let number): _ = queue.take(Array(journal.dropFirst(Int(number)).prefix(5)), end: end, now: now)
            case .store(let number):
                queue.stored(number)
                stored = number
            case .call(let entries):
                calls += 1
                queue.begin(now: now)
                if step < 3000, Int.random(in: 0..<3, using: &random) == 0 {
                    queue.end(.failed("down", retryAfter: nil), now: now)
                } else {
                    delivered += entries.map(\.number)
                    queue.end(.delivered, now: now)
                    if Int.random(in: 0..<10, using: &random) > 0 { stored = queue.cursor }
                }
            case .wait: seconds += 2
            }
        }
        let wanted = journal.filter { $0.row.outcome == .done }.map(\.number)
        var seen: Set<UInt64> = []
        let firsts = delivered.filter { seen.insert($0).inserted }
        #expect(firsts == wanted, "seed \(seed)")
        #expect(kills > 10 && calls > 100)
    }
}
