import UploadCore

/// Assigns pictures to workers, and decides when to start, retire and kill workers. A state machine and a value:
/// events and time in, actions out.
struct WorkerPool: Sendable {
    /// Identifies a worker; numbers are never reused.
    typealias WorkerID = Int
    /// Identifies a job.
    typealias JobID = UInt64

    /// Priority of a job. Jobs of a lower priority still have a turn after some others, so that none starves.
    enum Priority: Int, CaseIterable, Sendable {
        /// A caller waits for the result.
        case interactive
        /// The job is not urgent.
        case background
        /// The job is long, and not urgent. If there are several workers, one stays free for other jobs.
        case bulk
    }

    /// Tuning parameters of the pool.
    struct Settings: Equatable, Sendable {
        /// Maximum number of workers.
        var most = 1
        /// Time limit from start to hello.
        var startLimit = Duration.seconds(10)
        /// Time limit from retirement to the end of the process.
        var retireLimit = Duration.seconds(5)
        /// Idle time after which workers beyond the first are retired.
        var extraIdle = Duration.seconds(60)
        /// Idle time after which the last worker is retired.
        var lastIdle = Duration.seconds(600)
        /// Maximum number of other jobs that go before a waiting background job.
        var mostPassedOver = 3
        /// Maximum number of other jobs that go before a waiting bulk job.
        var mostBulkPassedOver = 30
        /// Maximum number of jobs of a worker. Afterwards the worker is replaced, in case it leaks.
        var mostJobs = 2000
        /// Maximum memory of a worker after a job, in bytes. Beyond that, the worker is replaced.
        var mostMemory = 256 << 20
        /// Number of failed starts in a row before an outage. One suffices if the program is at fault.
        var mostFailedStarts = 3
        /// The first pause of an outage; doubles each time.
        var firstPause = Duration.seconds(1)
        /// The longest pause.
        var longestPause = Duration.seconds(300)
    }

    /// Output of the pool.
    enum Action: Equatable, Sendable {
        /// Start a worker.
        case start(WorkerID)
        /// Send a job.
        case send(JobID, to: WorkerID)
        /// Close the worker's socket, so that the worker ends.
        case retire(WorkerID)
        /// Kill the worker.
        case kill(WorkerID)
        /// Deliver the worker's answer to its caller.
        case deliver(JobID)
        /// Report a failure to the caller.
        case fail(JobID, PictureFailure)
        /// Log once that no worker is available, and why.
        case reportUnavailable(String)
        /// Log that a worker is available again.
        case reportAvailable
    }

    private struct Job {
        var id: JobID
        var priority: Priority
        var limit: Duration
    }

    /// The waiting jobs of one priority.
    private struct Queue {
        var jobs: [Job] = []
        /// Number of more urgent jobs that went before these, since the last of these.
        var passedOver = 0
    }

    private enum State {
        case starting(deadline: MonotonicTime)
        case idle(since: MonotonicTime)
        case busy(Job, isWanted: Bool, deadline: MonotonicTime)
        case retiring(deadline: MonotonicTime)
        /// Killed but not yet ended; with the reason if the worker never became ready.
        case dying(failedStart: String?)
    }

    private struct Worker {
        var state: State
        var jobs = 0
    }

    /// A period without workers, after failed starts.
    private struct Outage {
        var reason: String
        var until: MonotonicTime
        var pause: Duration
    }

    private let settings: Settings
    private var workers: [WorkerID: Worker] = [:]
    private var nextWorker = 1
    private var queues = Priority.allCases.map { _ in Queue() }
    private var failedStarts = 0
    private var outage: Outage?
    private var isShutDown = false

    init(settings: Settings) {
        self.settings = settings
    }

    /// Whether no worker is left, including ending ones.
    var isEmpty: Bool { workers.isEmpty }

    // MARK: Events

    /// Adds a job. Its time limit starts when a worker receives it.
    mutating func submit(_ job: JobID, _ priority: Priority, limit: Duration, now: MonotonicTime) -> [Action] {
        if isShutDown { return [.fail(job, .cancelled)] }
        if let outage, now < outage.until, !isAnyReady { return [.fail(job, .unavailable(outage.reason))] }
        queues[priority.rawValue].jobs.append(Job(id: job, priority: priority, limit: limit))
        return dispatch(now: now)
    }

    /// Cancels a job. A waiting job is dropped; a worker may finish its current job.
    mutating func cancel(_ job: JobID) -> [Action] {
        let before = waiting
        for index in queues.indices { queues[index].jobs.removeAll { $0.id == job } }
        if waiting < before { return [.fail(job, .cancelled)] }
        for (id, worker) in workers {
            if case .busy(let current, true, let deadline) = worker.state, current.id == job {
                workers[id]?.state = .busy(current, isWanted: false, deadline: deadline)
                return [.fail(job, .cancelled)]
            }
        }
        return []
    }

    /// Starts a first worker in advance.
    mutating func warmUp(now: MonotonicTime) -> [Action] {
        if isShutDown || !workers.isEmpty || outage.map({ now < $0.until }) ?? false { return [] }
        return [start(now: now)]
    }

    /// Handles a worker's hello.
    mutating func ready(_ id: WorkerID, now: MonotonicTime) -> [Action] {
        guard case .starting = workers[id]?.state else { return [] }
        workers[id]?.state = .idle(since: now)
        failedStarts = 0
        let wasOut = outage != nil
        outage = nil
        return (wasOut ? [.reportAvailable] : []) + dispatch(now: now)
    }

    /// Handles a worker's answer.
    ///
    /// - Parameter memory: The worker's current memory in bytes.
    mutating func answered(_ id: WorkerID, _ job: JobID, memory: Int, now: MonotonicTime) -> [Action] {
        guard let worker = workers[id] else { return [] }
        guard case .busy(let asked, let isWanted, _) = worker.state, asked.id == job else {
            return kill(id, because: "it answered a job that it did not have")
        }
        workers[id]?.jobs += 1
        var actions: [Action] = isWanted ? [.deliver(job)] : []
        if worker.jobs + 1 >= settings.mostJobs || memory >= settings.mostMemory {
            actions += retire(id, now: now)
        } else {
            workers[id]?.state = .idle(since: now)
        }
        return actions + dispatch(now: now)
    }

    /// Handles a job that could not be sent because its worker had already ended. The job is not at fault and goes to
    /// the next worker. If the worker never did a job, the job fails instead, to avoid an endless loop.
    mutating func notSent(to id: WorkerID) -> [Action] {
        guard let worker = workers[id], case .busy(let job, let isWanted, _) = worker.state else { return [] }
        workers[id]?.state = .dying(failedStart: nil)
        if !isWanted { return [.kill(id)] }
        if worker.jobs == 0 {
            return [.kill(id), .fail(job.id, .failed("the picture worker ended before it started the job"))]
        }
        queues[job.priority.rawValue].jobs.insert(job, at: 0)
        return [.kill(id)]
    }

    /// Handles the end of a worker, or its failed start.
    ///
    /// - Parameters:
    ///   - reason: How the worker ended.
    ///   - isProgramsFault: Whether the program itself is at fault, so that another start would fail too.
    mutating func ended(
        _ id: WorkerID, _ reason: String, isProgramsFault: Bool, now: MonotonicTime
    ) -> [Action] {
        guard let worker = workers.removeValue(forKey: id) else { return [] }
        var actions: [Action] = []
        switch worker.state {
        case .starting:
            actions = startFailed(reason, isProgramsFault: isProgramsFault, now: now)
        case .dying(let failedStart?):
            actions = startFailed(failedStart, isProgramsFault: false, now: now)
        case .busy(let job, true, _):
            actions = [.fail(job.id, .killedWorker(reason))]
        case .busy, .idle, .retiring, .dying:
            break
        }
        return actions + dispatch(now: now)
    }

    /// Handles the passing of time: kills late workers and retires idle ones.
    mutating func tick(now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        for (id, worker) in workers.sorted(by: { $0.key < $1.key }) {
            switch worker.state {
            case .starting(let deadline) where deadline <= now:
                actions += kill(id, because: "it was not ready within \(settings.startLimit.components.seconds) s")
            case .busy(_, _, let deadline) where deadline <= now:
                actions += kill(id, because: "it took too long and was killed")
            case .retiring(let deadline) where deadline <= now:
                actions += kill(id, because: "")
            case .idle(let since) where since + idleLimit <= now:
                actions += retire(id, now: now)
            default:
                break
            }
        }
        return actions + dispatch(now: now)
    }

    /// Cancels all jobs and ends all workers.
    mutating func shutDown() -> [Action] {
        isShutDown = true
        let waiting = removeWaiting().map { Action.fail($0, .cancelled) }
        let working = workers.sorted { $0.key < $1.key }.flatMap { id, worker -> [Action] in
            workers[id]?.state = .dying(failedStart: nil)
            if case .busy(let job, true, _) = worker.state { return [.fail(job.id, .cancelled), .kill(id)] }
            return [.kill(id)]
        }
        return waiting + working
    }

    /// When `tick` is due; nil if nothing depends on time.
    var nextDue: MonotonicTime? {
        var times = workers.values.compactMap { worker -> MonotonicTime? in
            switch worker.state {
            case .starting(let deadline), .busy(_, _, let deadline), .retiring(let deadline): deadline
            case .idle(let since): since + idleLimit
            case .dying: nil
            }
        }
        // Jobs may wait for the end of a pause, with no other event to come. A worker starting after the pause has its
        // own deadline.
        if waiting > 0, starting == 0, workers.count < settings.most, let outage { times.append(outage.until) }
        return times.min()
    }

    // MARK: Decisions

    private var isAnyReady: Bool {
        workers.values.contains { worker in
            switch worker.state {
            case .idle, .busy: true
            case .starting, .retiring, .dying: false
            }
        }
    }

    /// Workers that can get work, now or later.
    private var staying: Int {
        workers.values.count { worker in
            switch worker.state {
            case .starting, .idle, .busy: true
            case .retiring, .dying: false
            }
        }
    }

    private var idleLimit: Duration { staying > 1 ? settings.extraIdle : settings.lastIdle }

    /// Assigns jobs to idle workers, the most recently used first, so that the others can retire. Starts workers for
    /// the remaining jobs.
    private mutating func dispatch(now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        while let worker = latestIdle, let job = nextJob() {
            workers[worker]?.state = .busy(job, isWanted: true, deadline: now + job.limit)
            actions.append(.send(job.id, to: worker))
        }
        let isPausing = outage.map { now < $0.until } ?? false
        let wanted = waiting - queues[Priority.bulk.rawValue].jobs.count + startableBulk
        while !isPausing, starting < (outage == nil ? wanted : min(wanted, 1)), workers.count < settings.most {
            actions.append(start(now: now))
        }
        return actions
    }

    private var waiting: Int { queues.reduce(0) { $0 + $1.jobs.count } }

    /// The number of bulk jobs that could start now, if there were workers.
    private var startableBulk: Int {
        let busy = workers.values.count { worker in
            if case .busy(let job, _, _) = worker.state { job.priority == .bulk } else { false }
        }
        return min(queues[Priority.bulk.rawValue].jobs.count, max(0, max(1, settings.most - 1) - busy))
    }

    private var starting: Int {
        workers.values.count { if case .starting = $0.state { true } else { false } }
    }

    private var latestIdle: WorkerID? {
        workers.compactMap { id, worker -> (MonotonicTime, WorkerID)? in
            if case .idle(let since) = worker.state { (since, id) } else { nil }
        }.max { $0 < $1 }?.1
    }

    /// Returns the next job: the most urgent one, or one that others passed over often enough.
    private mutating func nextJob() -> Job? {
        let startable = Priority.allCases.filter { priority in
            priority == .bulk ? startableBulk > 0 : !queues[priority.rawValue].jobs.isEmpty
        }
        let overdue = startable.last { queues[$0.rawValue].passedOver >= mostPassedOver($0) }
        guard let priority = overdue ?? startable.first else { return nil }
        for index in queues.indices where index > priority.rawValue {
            queues[index].passedOver = queues[index].jobs.isEmpty ? 0 : queues[index].passedOver + 1
        }
        queues[priority.rawValue].passedOver = 0
        return queues[priority.rawValue].jobs.removeFirst()
    }

    private func mostPassedOver(_ priority: Priority) -> Int {
        switch priority {
        case .interactive: .max
        case .background: settings.mostPassedOver
        case .bulk: settings.mostBulkPassedOver
        }
    }

    private mutating func removeWaiting() -> [JobID] {
        let jobs = queues.flatMap { $0.jobs.map(\.id) }
        queues = Priority.allCases.map { _ in Queue() }
        return jobs
    }

    private mutating func start(now: MonotonicTime) -> Action {
        let id = nextWorker
        nextWorker += 1
        workers[id] = Worker(state: .starting(deadline: now + settings.startLimit))
        return .start(id)
    }

    private mutating func retire(_ id: WorkerID, now: MonotonicTime) -> [Action] {
        workers[id]?.state = .retiring(deadline: now + settings.retireLimit)
        return [.retire(id)]
    }

    private mutating func kill(_ id: WorkerID, because reason: String) -> [Action] {
        guard let worker = workers[id] else { return [] }
        switch worker.state {
        case .dying:
            return []
        case .starting:
            workers[id]?.state = .dying(failedStart: reason)
            return [.kill(id)]
        case .busy(let job, let isWanted, _):
            workers[id]?.state = .dying(failedStart: nil)
            return [.kill(id)] + (isWanted ? [.fail(job.id, .killedWorker(reason))] : [])
        case .idle, .retiring:
            workers[id]?.state = .dying(failedStart: nil)
            return [.kill(id)]
        }
    }

    /// While another worker is ready, only further starts pause.
    private mutating func startFailed(_ reason: String, isProgramsFault: Bool, now: MonotonicTime) -> [Action] {
        failedStarts += 1
        guard isProgramsFault || outage != nil || failedStarts >= settings.mostFailedStarts else { return [] }
        let isNew = outage == nil
        // Several simultaneous failures count as one.
        if outage.map({ $0.until <= now }) ?? true {
            let pause = outage.map { min($0.pause * 2, settings.longestPause) } ?? settings.firstPause
            outage = Outage(reason: reason, until: now + pause, pause: pause)
        }
        if isAnyReady { return [] }
        let left = removeWaiting().map { Action.fail($0, .unavailable(reason)) }
        return (isNew ? [.reportUnavailable(reason)] : []) + left
    }
}
