import LinuxSystem
import Synchronization
import Testing

@Suite("Serial thread")
struct SerialThreadTests {
    @Test("runs jobs in order, those of many callers included")
    func order() async {
        let thread = SerialThread(name: "test")
        let seen = Mutex<[Int]>([])
        await withCheckedContinuation { done in
            for number in 0..<1000 { thread.run { seen.withLock { $0.append(number) } } }
            thread.run { done.resume() }
        }
        #expect(seen.withLock { $0 } == Array(0..<1000))
    }

    @Test("runs an urgent job before all waiting jobs")
    func urgent() async {
        let thread = SerialThread(name: "test")
        let seen = Mutex<[Int]>([])
        await withCheckedContinuation { done in
            thread.run {
                // Both queues fill while this job runs.
                for number in 1...100 { thread.run { seen.withLock { $0.append(number) } } }
                thread.runFirst { seen.withLock { $0.append(-2) } }
                thread.runFirst { seen.withLock { $0.append(-1) } }
                thread.run { done.resume() }
            }
        }
        #expect(seen.withLock { $0 } == [-2, -1] + Array(1...100))
    }

    @Test("returns from two closures at once while the thread is busy with its next job")
    func beside() async {
        let thread = SerialThread(name: "test")
        let caller = SerialThread(name: "caller")
        let (begin, hasReturned) = (Gate(), Gate())
        let runs = Atomic<Int>(0)
        thread.run { begin.pass() }
        await withCheckedContinuation { done in
            caller.run {
                thread.run({ runs.add(1, ordering: .relaxed) }) {
                    // Taken from the queue together with the first closure.
                    thread.run { hasReturned.pass() }
                    begin.open()
                }
                hasReturned.open()
                done.resume()
            }
        }
        #expect(runs.load(ordering: .relaxed) == 1)
    }

    @Test("runs all jobs of an actor on one thread")
    func executor() async {
        let actor = OnThread()
        let inActor = await actor.threadNumber()
        let inJob = await withCheckedContinuation { done in
            actor.thread.run { done.resume(returning: currentThread()) }
        }
        #expect(inActor == inJob)
        #expect(await actor.afterAwait() == inActor)
    }

    @Test("finishes all queued jobs before it ends")
    func finishes() async {
        let count = Atomic<Int>(0)
        await confirmation(expectedCount: 100) { ran in
            await withCheckedContinuation { done in
                let thread = SerialThread(name: "a name that is far too long for the kernel")
                for _ in 0..<100 {
                    thread.run {
                        ran()
                        if count.wrappingAdd(1, ordering: .relaxed).newValue == 100 { done.resume() }
                    }
                }
            }
        }
    }
}

private actor OnThread {
    let thread = SerialThread(name: "actor")
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    func threadNumber() -> UInt { currentThread() }

    func afterAwait() async -> UInt {
        await Task.yield()
        return currentThread()
    }
}

/// Stops threads until it is opened.
private final class Gate: Sendable {
    private let monitor = Monitor()
    private let isOpen = Atomic(false)

    func open() {
        monitor.locked {
            isOpen.store(true, ordering: .relaxed)
            monitor.broadcast()
        }
    }

    func pass() { monitor.locked { while !isOpen.load(ordering: .relaxed) { monitor.wait() } } }
}
