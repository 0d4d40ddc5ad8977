import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@Suite("Task pool")
struct TaskPoolTests {
    @Test("runs jobs in order on one thread")
    func order() async {
        let pool = TaskPool(threads: 1)
        let seen = Mutex<[Int]>([])
        await withCheckedContinuation { done in
            for number in 0..<1000 { pool.run { seen.withLock { $0.append(number) } } }
            pool.run { done.resume() }
        }
        #expect(seen.withLock { $0 } == Array(0..<1000))
    }

    @Test("runs as many jobs at once as it has threads")
    func atOnce() async throws {
        let pool = TaskPool(threads: 2)
        let arrived = Atomic(0)
        let left = Atomic(0)
        for _ in 0..<2 {
            pool.run {
                arrived.add(1, ordering: .relaxed)
                while arrived.load(ordering: .relaxed) < 2 { sched_yield() }
                left.add(1, ordering: .relaxed)
            }
        }
        try await Poll.until("both jobs to meet") { left.load(ordering: .relaxed) == 2 }
    }
}

@Suite("Timers")
struct TimersTests {
    @Test("a sleep lasts as long as asked")
    func sleep() async throws {
        let begin = bootTimeNanoseconds()
        try await Timers.sleep(for: .milliseconds(20))
        #expect(bootTimeNanoseconds() - begin >= 20_000_000)
        try await Timers.sleep(for: .seconds(-1))
    }

    @Test("work runs in the order of its times, before longer waits that began earlier")
    func order() async throws {
        let seen = Mutex<[Int]>([])
        Timers.shared.run(after: .seconds(86_400)) { seen.withLock { $0.append(-1) } }
        Timers.shared.run(after: .milliseconds(60)) { seen.withLock { $0.append(2) } }
        Timers.shared.run(after: .milliseconds(30)) { seen.withLock { $0.append(1) } }
        Timers.shared.run(after: .seconds(Int64.max)) { seen.withLock { $0.append(-2) } }
        try await Poll.until("the work to run") { seen.withLock { $0.count } == 2 }
        #expect(seen.withLock { $0 } == [1, 2])
    }

    @Test("cancellation ends a sleep, before and after it has begun", arguments: [false, true])
    func cancellation(hasBegun: Bool) async throws {
        let hasStarted = Atomic(false)
        let task = Task {
            hasStarted.store(true, ordering: .relaxed)
            if !hasBegun { while !Task.isCancelled { await Task.yield() } }
            try await Timers.sleep(for: .seconds(86_400))
        }
        try await Poll.until("the task to start") { hasStarted.load(ordering: .relaxed) }
        if hasBegun { try await Timers.sleep(for: .milliseconds(20)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
