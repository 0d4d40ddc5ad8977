import CLinux
import Glibc

/// The threads that run Swift's tasks.
///
/// By default, Dispatch runs them. It looks after its threads every second, which wakes an idle process. Jobs must not
/// block: no thread is added for a blocked one.
public final class TaskPool: @unchecked Sendable {
    // Unchecked: the variables are only touched within `monitor.locked`.
    private let monitor = Monitor()
    private var added: [Job] = []
    /// Jobs older than those in `added`, the oldest one last.
    private var oldest: [Job] = []
    private var sleepers = 0

    /// Work for one thread.
    public typealias Job = @Sendable () -> Void

    /// Starts the threads, which never end.
    ///
    /// - Parameter threads: how many jobs may run at the same time.
    public init(threads: Int) {
        for _ in 0..<max(1, threads) { startThread(name: "tasks") { [self] in while true { takeJob()() } } }
    }

    /// Has a pool run all tasks of this process that have no executor of their own. Must be called before the first one.
    ///
    /// `Task.sleep` still uses Dispatch; `Timers.sleep` does not.
    public static func takeTasks() {
        outbox_take_tasks { job in
            let address = UInt(bitPattern: job)
            TaskPool.forTasks.run { outbox_run_task(UnsafeMutableRawPointer(bitPattern: address)) }
        }
    }

    /// At least two threads, since a job may be long.
    private static let forTasks = TaskPool(threads: min(4, max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))))

    /// Queues a job behind all others.
    public func run(_ job: @escaping Job) {
        monitor.locked {
            added.append(job)
            if sleepers > 0 { monitor.signal() }
        }
    }

    private func takeJob() -> Job {
        monitor.locked {
            while true {
                if let job = oldest.popLast() { return job }
                if added.isEmpty {
                    sleepers += 1
                    monitor.wait()
                    sleepers -= 1
                } else {
                    swap(&oldest, &added)
                    oldest.reverse()
                }
            }
        }
    }
}
