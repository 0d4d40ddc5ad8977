import Testing
import UploadCore

@testable import MediaTools

@Suite("The pool of picture workers")
struct WorkerPoolTests {
    private func pool(most: Int = 1) -> WorkerPool { WorkerPool(settings: WorkerPool.Settings(most: most)) }

    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: UInt64(seconds * 1e9)) }

    private func submit(_ pool: inout WorkerPool, _ job: UInt64, at seconds: Double = 0) -> [WorkerPool.Action] {
        pool.submit(job, .background, limit: .seconds(30), now: at(seconds))
    }

    /// A pool with workers 1… that are ready and idle.
    private func readyPool(_ count: Int, most: Int? = nil) -> WorkerPool {
        var pool = pool(most: most ?? count)
        for job in 0..<UInt64(count) { _ = submit(&pool, 1000 + job) }
        for worker in 1...count { _ = pool.ready(worker, now: at(0)) }
        for worker in 1...count {
            _ = pool.answered(worker, 999 + UInt64(worker), memory: 0, now: at(Double(worker) / 100))
        }
        return pool
    }

    @Test func `nothing is started before there is work`() {
        #expect(pool().nextDue == nil)
    }

    @Test func `the first job starts a worker and is sent once that is ready`() {
        var pool = pool()
        #expect(submit(&pool, 1) == [.start(1)])
        #expect(pool.ready(1, now: at(0.1)) == [.send(1, to: 1)])
        #expect(pool.answered(1, 1, memory: 0, now: at(0.2)) == [.deliver(1)])
    }

    @Test func `a worker gets one job at a time`() {
        var pool = readyPool(1)
        #expect(submit(&pool, 1) == [.send(1, to: 1)])
        #expect(submit(&pool, 2) == [])
        #expect(pool.answered(1, 1, memory: 0, now: at(1)) == [.deliver(1), .send(2, to: 1)])
    }

    @Test func `workers are started for jobs that wait, up to the limit`() {
        var pool = pool(most: 2)
        #expect(submit(&pool, 1) == [.start(1)])
        #expect(submit(&pool, 2) == [.start(2)])
        #expect(submit(&pool, 3) == [])
    }

    @Test func `a warm worker takes the first job, and only one is warmed up`() {
        var pool = pool(most: 2)
        #expect(pool.warmUp(now: at(0)) == [.start(1)])
        #expect(pool.warmUp(now: at(0)) == [])
        #expect(submit(&pool, 1) == [])
        #expect(pool.ready(1, now: at(1)) == [.send(1, to: 1)])
    }

    @Test func `jobs somebody waits for go before the others`() {
        var pool = readyPool(1)
        _ = submit(&pool, 1)
        _ = submit(&pool, 2)
        _ = pool.submit(3, .interactive, limit: .seconds(30), now: at(0))
        #expect(pool.answered(1, 1, memory: 0, now: at(1)) == [.deliver(1), .send(3, to: 1)])
        #expect(pool.answered(1, 3, memory: 0, now: at(1)) == [.deliver(3), .send(2, to: 1)])
    }

    @Test func `of four jobs one is of the background while one waits there`() {
        var pool = readyPool(1)
        _ = submit(&pool, 0)
        for job in 1...8 as ClosedRange<UInt64> { _ = pool.submit(job, .interactive, limit: .seconds(30), now: at(0)) }
        for job in 101...102 as ClosedRange<UInt64> { _ = submit(&pool, job) }
        var order: [UInt64] = [0]
        while let job = order.last {
            let actions = pool.answered(1, job, memory: 0, now: at(1))
            guard actions.count == 2, case .send(let next, to: 1) = actions[1] else { break }
            order.append(next)
        }
        #expect(order == [0, 1, 2, 3, 101, 4, 5, 6, 102, 7, 8])
    }

    @Test func `of 31 jobs one is a bulk job while one waits`() {
        var pool = readyPool(1)
        _ = submit(&pool, 0)
        for job in 101...102 as ClosedRange<UInt64> { _ = pool.submit(job, .bulk, limit: .seconds(30), now: at(0)) }
        for job in 1...40 as ClosedRange<UInt64> { _ = submit(&pool, job) }
        var order: [UInt64] = [0]
        while let job = order.last {
            let actions = pool.answered(1, job, memory: 0, now: at(1))
            guard actions.count == 2, case .send(let next, to: 1) = actions[1] else { break }
            order.append(next)
        }
        #expect(order == [0] + Array(1...30) + [101] + Array(31...40) + [102])
    }

    @Test func `bulk jobs leave one of several workers free`() {
        var pool = readyPool(2)
        #expect(pool.submit(1, .bulk, limit: .seconds(30), now: at(0)) == [.send(1, to: 2)])
        #expect(pool.submit(2, .bulk, limit: .seconds(30), now: at(0)) == [])
        #expect(submit(&pool, 3) == [.send(3, to: 1)])
        #expect(pool.answered(1, 3, memory: 0, now: at(1)) == [.deliver(3)])
        #expect(pool.answered(2, 1, memory: 0, now: at(1)) == [.deliver(1), .send(2, to: 2)])
    }

    @Test func `a pool of two starts only one worker for bulk jobs`() {
        var pool = WorkerPool(settings: WorkerPool.Settings(most: 2))
        #expect(pool.submit(1, .bulk, limit: .seconds(30), now: at(0)) == [.start(1)])
        #expect(pool.submit(2, .bulk, limit: .seconds(30), now: at(0)) == [])
        #expect(submit(&pool, 3) == [.start(2)])
    }

    @Test func `the worker that worked last gets the next job`() {
        var pool = readyPool(2)
        #expect(submit(&pool, 1, at: 1) == [.send(1, to: 2)])
    }

    @Test func `a worker that dies costs the job it had, and is replaced`() {
        var pool = readyPool(2)
        _ = submit(&pool, 1)
        _ = submit(&pool, 2)
        _ = submit(&pool, 3)
        #expect(
            pool.ended(2, "signal 11", isProgramsFault: false, now: at(1)) == [
                .fail(1, .killedWorker("signal 11")), .start(3),
            ])
        #expect(pool.answered(1, 2, memory: 0, now: at(2)) == [.deliver(2), .send(3, to: 1)])
    }

    @Test func `a worker that takes too long is killed, and its job fails at once`() {
        var pool = readyPool(1)
        _ = submit(&pool, 1, at: 10)
        #expect(pool.nextDue == at(40))
        #expect(pool.tick(now: at(39)) == [])
        #expect(
            pool.tick(now: at(40)) == [.kill(1), .fail(1, .killedWorker("it took too long and was killed"))])
        #expect(submit(&pool, 2, at: 40) == [])
        #expect(pool.ended(1, "signal 9", isProgramsFault: false, now: at(40)) == [.start(2)])
    }

    @Test func `a worker that answers what it was not asked is killed`() {
        var pool = readyPool(1)
        _ = submit(&pool, 1)
        #expect(
            pool.answered(1, 7, memory: 0, now: at(1)) == [
                .kill(1), .fail(1, .killedWorker("it answered a job that it did not have")),
            ])
    }

    @Test func `a job that did not reach a worker goes to the next one, before those that wait`() {
        var pool = readyPool(1)
        _ = submit(&pool, 1)
        _ = submit(&pool, 2)
        #expect(pool.notSent(to: 1) == [.kill(1)])
        #expect(pool.ended(1, "signal 9", isProgramsFault: false, now: at(1)) == [.start(2)])
        #expect(pool.ready(2, now: at(1)) == [.send(1, to: 2)])
    }

    @Test func `a worker that ends before its first job is no reason to go on for ever`() {
        var pool = pool()
        _ = submit(&pool, 1)
        _ = pool.ready(1, now: at(0))
        #expect(
            pool.notSent(to: 1) == [.kill(1), .fail(1, .failed("the picture worker ended before it started the job"))])
        #expect(pool.ended(1, "exit code 0", isProgramsFault: false, now: at(0)) == [])
    }

    @Test func `a cancelled job leaves the queue`() {
        var pool = readyPool(1)
        _ = submit(&pool, 1)
        _ = submit(&pool, 2)
        #expect(pool.cancel(2) == [.fail(2, .cancelled)])
        #expect(pool.answered(1, 1, memory: 0, now: at(1)) == [.deliver(1)])
    }

    @Test func `a cancelled job that is being done is finished for nobody`() {
        var pool = readyPool(1)
        _ = submit(&pool, 1)
        #expect(pool.cancel(1) == [.fail(1, .cancelled)])
        #expect(pool.cancel(1) == [])
        #expect(submit(&pool, 2) == [])
        #expect(pool.answered(1, 1, memory: 0, now: at(1)) == [.send(2, to: 1)])
    }

    @Test func `a program that is missing fails all jobs at once, and is said once`() {
        var pool = pool(most: 2)
        _ = submit(&pool, 1)
        _ = submit(&pool, 2)
        #expect(
            pool.ended(1, "no program", isProgramsFault: true, now: at(0)) == [
                .reportUnavailable("no program"), .fail(1, .unavailable("no program")),
                .fail(2, .unavailable("no program")),
            ])
        #expect(pool.ended(2, "no program", isProgramsFault: true, now: at(0)) == [])
        #expect(submit(&pool, 3, at: 0.9) == [.fail(3, .unavailable("no program"))])
    }

    @Test func `one that dies at start is tried three times`() {
        var pool = pool()
        _ = submit(&pool, 1)
        #expect(pool.ended(1, "signal 9", isProgramsFault: false, now: at(0)) == [.start(2)])
        #expect(pool.ended(2, "signal 9", isProgramsFault: false, now: at(0)) == [.start(3)])
        #expect(
            pool.ended(3, "signal 9", isProgramsFault: false, now: at(0)) == [
                .reportUnavailable("signal 9"), .fail(1, .unavailable("signal 9")),
            ])
    }

    @Test func `the pauses between attempts double up to five minutes`() {
        var pool = pool()
        var now = 0.0
        var pauses: [Double] = []
        for job in 1...11 as ClosedRange<UInt64> {
            #expect(submit(&pool, job, at: now) == [.start(Int(job))])
            _ = pool.ended(Int(job), "no program", isProgramsFault: true, now: at(now))
            let refused = [WorkerPool.Action.fail(0, .unavailable("no program"))]
            let pause = (1...400).first { second in
                var later = pool
                return submit(&later, 0, at: now + Double(second)) != refused
            }
            pauses.append(Double(pause ?? 0))
            now += Double(pause ?? 0)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    }

    @Test func `after the pause one worker is tried, and when it is ready that is said`() {
        var pool = pool(most: 4)
        _ = submit(&pool, 1)
        _ = pool.ended(1, "no program", isProgramsFault: true, now: at(0))
        #expect(submit(&pool, 2, at: 1) == [.start(2)])
        #expect(submit(&pool, 3, at: 1) == [])
        #expect(pool.ready(2, now: at(1)) == [.reportAvailable, .send(2, to: 2), .start(3)])
    }

    @Test func `while one worker is ready, another that can't be started fails no job`() {
        var pool = readyPool(1, most: 2)
        #expect(submit(&pool, 1) == [.send(1, to: 1)])
        #expect(submit(&pool, 2) == [.start(2)])
        #expect(pool.ended(2, "no memory", isProgramsFault: true, now: at(0)) == [])
        #expect(pool.answered(1, 1, memory: 0, now: at(0.5)) == [.deliver(1), .send(2, to: 1)])
    }

    @Test func `a job left waiting when the last ready worker dies during a pause is taken up at its end`() {
        var pool = readyPool(1, most: 2)
        #expect(submit(&pool, 1) == [.send(1, to: 1)])
        #expect(submit(&pool, 2) == [.start(2)])
        #expect(pool.ended(2, "no memory", isProgramsFault: true, now: at(0)) == [])
        #expect(
            pool.ended(1, "signal 11", isProgramsFault: false, now: at(0.5)) == [.fail(1, .killedWorker("signal 11"))])
        #expect(pool.nextDue == at(1))
        #expect(pool.tick(now: at(1)) == [.start(3)])
        // The pause is over and must not cause further wake-ups while the next worker starts.
        #expect(pool.nextDue == at(11))
        #expect(pool.ready(3, now: at(1.1)) == [.reportAvailable, .send(2, to: 3)])
    }

    @Test func `one that does not get ready in time is killed, as a failed start`() {
        var pool = pool()
        _ = submit(&pool, 1)
        #expect(pool.tick(now: at(10)) == [.kill(1)])
        #expect(pool.ended(1, "signal 9", isProgramsFault: false, now: at(10)) == [.start(2)])
    }

    @Test func `a worker that grew is sent home and replaced when there is work`() {
        var pool = readyPool(1)
        _ = submit(&pool, 1)
        #expect(pool.answered(1, 1, memory: 1 << 30, now: at(1)) == [.deliver(1), .retire(1)])
        #expect(submit(&pool, 2, at: 1) == [])
        #expect(pool.ended(1, "exit code 0", isProgramsFault: false, now: at(1.1)) == [.start(2)])
    }

    @Test func `a worker that did very many jobs is sent home, and killed when it stays`() {
        var pool = WorkerPool(settings: WorkerPool.Settings(most: 1, mostJobs: 2))
        _ = submit(&pool, 1)
        _ = pool.ready(1, now: at(0))
        #expect(pool.answered(1, 1, memory: 0, now: at(0)) == [.deliver(1)])
        _ = submit(&pool, 2)
        #expect(pool.answered(1, 2, memory: 0, now: at(0)) == [.deliver(2), .retire(1)])
        #expect(pool.tick(now: at(5)) == [.kill(1)])
    }

    @Test func `extra workers go home after a minute without work, the last one after ten`() {
        var pool = readyPool(2)
        #expect(pool.tick(now: at(60)) == [])
        #expect(pool.tick(now: at(60.02)) == [.retire(1)])
        #expect(pool.ended(1, "exit code 0", isProgramsFault: false, now: at(60.1)) == [])
        #expect(pool.nextDue == at(600.02))
        #expect(pool.tick(now: at(600.02)) == [.retire(2)])
    }

    @Test func `at shutdown all jobs are cancelled and all workers killed, and nothing is started again`() {
        var pool = readyPool(1)
        _ = submit(&pool, 1)
        _ = submit(&pool, 2)
        #expect(pool.shutDown() == [.fail(2, .cancelled), .fail(1, .cancelled), .kill(1)])
        #expect(submit(&pool, 3) == [.fail(3, .cancelled)])
        #expect(pool.ended(1, "signal 9", isProgramsFault: false, now: at(1)) == [])
        #expect(pool.isEmpty)
    }
}
