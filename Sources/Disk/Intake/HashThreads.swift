import LinuxSystem
import UploadCore

/// Threads that hash waiting files. If a read does not return, other threads take over.
///
/// Each file system has a queue. While a thread is late at one, a further thread, one at a time, serves the rest of its
/// queue, and all other queues go on as if nothing had happened. A bounded number of threads is left behind.
final class HashThreads: @unchecked Sendable {
    // Unchecked: the state is only touched within `monitor.locked`.

    /// A file to hash.
    struct Work: Sendable {
        /// The file system.
        var device: UInt64
        /// How to list the work among the stalls.
        var stall: Stalls.Stall
        /// The job; works with a small file may be done together.
        var job: HashPool.Job?
        /// Whether other files of the file system may be hashed together with this one.
        var isCompanionable = false
        /// What to do; `nil` to hash the job.
        var body: (@Sendable (FileHasher) -> Void)?
        /// Called when the work does not advance for seconds, and when it does again.
        var stalled: (@Sendable (Bool) -> Void)?
    }

    /// What a thread does now.
    private final class Run {
        enum Role { case regular, aside, late, over }

        let device: UInt64
        var role: Role

        init(_ device: UInt64, _ role: Role) { (self.device, self.role) = (device, role) }
    }

    private struct Queue {
        var works: ArraySlice<(number: UInt64, work: Work)> = []
        /// Threads that are late at this file system.
        var late = 0
        /// Whether a thread serves this file system beside the late ones.
        var isServedAside = false
    }

    private static let mostLatePerDevice = 4
    private static let mostLate = 16

    private let monitor = Monitor()
    private let name: String
    private let width: Int
    private let stalls: Stalls
    private let makeHasher: @Sendable () -> FileHasher
    private var queues: [UInt64: Queue] = [:]
    private var last: UInt64 = 0
    private var regular = 0
    private var late = 0
    private var idle = 0
    /// Idle threads that were woken and have not looked for work yet.
    private var woken = 0
    private var waitingForRest: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - width: how many threads hash at the same time.
    ///   - makeHasher: called once for each thread.
    init(name: String, width: Int, stalls: Stalls, makeHasher: @escaping @Sendable () -> FileHasher) {
        self.name = name
        self.width = max(1, width)
        self.stalls = stalls
        self.makeHasher = makeHasher
    }

    /// Queues work.
    func add(_ work: Work) {
        monitor.locked {
            last += 1
            queues[work.device, default: Queue()].works.append((last, work))
            wake()
        }
    }

    /// The number of files that wait for a file system that does not answer.
    var stuckCount: Int {
        monitor.locked { late == 0 ? 0 : queues.values.reduce(0) { $0 + ($1.late > 0 ? $1.late + $1.works.count : 0) } }
    }

    /// Waits until all work is done, except where the file system does not answer.
    func finish() async {
        await withCheckedContinuation { continuation in
            let isOver = monitor.locked { () -> Bool in
                if isAtRest { return true }
                waitingForRest.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    private var isAtRest: Bool {
        regular == 0 && queues.values.allSatisfy { !$0.isServedAside && ($0.works.isEmpty || $0.late > 0) }
    }

    /// The file system whose work comes next, and the role of the thread that does it.
    private var next: (device: UInt64, role: Run.Role)? {
        var found: (number: UInt64, device: UInt64, role: Run.Role)?
        for (device, queue) in queues {
            guard let number = queue.works.first?.number, number < found?.number ?? .max else { continue }
            if queue.late == 0 {
                if regular < width { found = (number, device, .regular) }
            } else if !queue.isServedAside, queue.late < Self.mostLatePerDevice, late < Self.mostLate {
                found = (number, device, .aside)
            }
        }
        return found.map { ($0.device, $0.role) }
    }

    /// Has a thread look for work, if there is any that may begin.
    private func wake() {
        guard next != nil else { return }
        if idle > woken {
            woken += 1
            monitor.signal()
        } else if woken == 0 {
            startThread(name: name) { self.work() }
        }
    }

    private func work() {
        let hasher = makeHasher()
        while let (works, run) = monitor.locked(take) {
            hash(works, run, hasher)
            let atRest = monitor.locked { () -> [CheckedContinuation<Void, Never>] in
                change(run, to: .over)
                guard isAtRest else { return [] }
                defer { waitingForRest = [] }
                return waitingForRest
            }
            for continuation in atRest { continuation.resume() }
        }
    }

    /// Waits for work.
    ///
    /// - Returns: `nil` if there are threads enough.
    private func take() -> (works: [Work], run: Run)? {
        while true {
            if let (device, role) = next, var queue = queues[device], let first = queue.works.popFirst()?.work {
                var works = [first]
                while first.isCompanionable, works.count < HashPool.mostTogether,
                    queue.works.first?.work.isCompanionable == true, let more = queue.works.popFirst()
                {
                    works.append(more.work)
                }
                queues[device] = queue
                let run = Run(device, .over)
                change(run, to: role)
                // More may be possible at the same time.
                wake()
                return (works, run)
            }
            if idle >= width { return nil }
            idle += 1
            monitor.wait()
            idle -= 1
            woken = max(0, woken - 1)
        }
    }

    private func change(_ run: Run, to role: Run.Role) {
        var queue = queues[run.device] ?? Queue()
        switch run.role {
        case .regular: regular -= 1
        case .aside: queue.isServedAside = false
        case .late: (queue.late, late) = (queue.late - 1, late - 1)
        case .over: break
        }
        switch role {
        case .regular: regular += 1
        case .aside: queue.isServedAside = true
        case .late: (queue.late, late) = (queue.late + 1, late + 1)
        case .over: break
        }
        run.role = role
        queues[run.device] = queue.works.isEmpty && queue.late == 0 && !queue.isServedAside ? nil : queue
    }

    private func hash(_ works: [Work], _ run: Run, _ hasher: FileHasher) {
        nonisolated(unsafe) let run = run
        let activity = stalls.begin(works[0].stall) { [self] silence in
            monitor.locked {
                switch (silence, run.role) {
                case (.none, .late): change(run, to: .regular)
                case (.late, .regular), (.late, .aside), (.stalled, .regular), (.stalled, .aside):
                    change(run, to: .late)
                default: return
                }
                wake()
            }
            if silence != .late { for work in works { work.stalled?(silence == .stalled) } }
        }
        defer { stalls.end(activity) }
        var hasher = hasher
        hasher.activity = activity
        if let body = works[0].body { return body(hasher) }
        let jobs = works.compactMap(\.job)
        for (job, finding) in zip(jobs, hasher.hash(each: jobs)) { job.done(finding) }
    }
}
