import PictureJobs
import UploadCore

/// Decides which worker does which picture, and when workers are started, sent home and killed. A value: events and time
/// go in, actions come out.
struct WorkerPool: Sendable {
    /// Tells workers apart; numbers are never used again.
    typealias WorkerID = Int
    /// Tells jobs apart.
    typealias JobID = UInt64

    /// Which jobs go first; every fourth may still be one of the background, which must not wait for ever.
    enum Priority: Sendable {
        /// Somebody waits for it.
        case interactive
        /// It may take its time.
        case background
    }

    /// The numbers that rule it.
    struct Settings: Equatable, Sendable {
        /// The most workers at once.
        var most = 1
        /// From start to hello.
        var startLimit = Duration.seconds(10)
        /// From being sent home to its end.
        var retireLimit = Duration.seconds(5)
        /// How long workers beyond one stay without work.
        var extraIdle = Duration.seconds(60)
        /// How long the last one stays without work.
        var lastIdle = Duration.seconds(600)
        /// So many jobs that somebody waits for go before one of the background; then that goes.
        var mostPassedOver = 3
        /// A worker that did so many jobs is replaced, should it leak.
        var mostJobs = 2000
        /// So is one that kept so many bytes of memory after a job.
        var mostMemory = 256 << 20
        /// After so many failed starts in a row there are no workers for a while; one does where the program is to blame.
        var mostFailedStarts = 3
        /// The first pause; each further one is twice as long.
        var firstPause = Duration.seconds(1)
        /// The longest pause.
        var longestPause = Duration.seconds(300)
    }

    /// What is to be done.
    enum Action: Equatable, Sendable {
        /// Start a worker.
        case start(WorkerID)
        /// Send a job.
        case send(JobID, to: WorkerID)
        /// Close the worker's socket, so that it ends.
        case retire(WorkerID)
        /// Kill the worker.
        case kill(WorkerID)
        /// Hand the worker's answer to who waits for it.
        case deliver(JobID)
        /// Tell who waits that there will be no answer.
        case fail(JobID, PictureFailure)
        /// Tell people that there are no workers, and why; once.
        case reportUnavailable(String)
        /// Tell people that there are workers again.
        case reportAvailable
    }

    private struct Job {
        var id: JobID
        var priority: Priority
        var limit: Duration
    }

    private enum State {
        case starting(deadline: MonotonicTime)
        case idle(since: MonotonicTime)
        case busy(Job, isWanted: Bool, deadline: MonotonicTime)
        case retiring(deadline: MonotonicTime)
        /// Killed, and not yet ended; the reason where it never became ready.
        case dying(failedStart: String?)
    }

    private struct Worker {
        var state: State
        var jobs = 0
    }

    /// No workers could be started.
    private struct Outage {
        var reason: String
        var until: MonotonicTime
        var pause: Duration
    }

    private let settings: Settings
    private var workers: [WorkerID: Worker] = [:]
    private var nextWorker = 1
    private var interactive: [Job] = []
    private var background: [Job] = []
    /// Jobs that went before a waiting one of the background, since the last of those had its turn.
    private var passedOver = 0
    private var failedStarts = 0
    private var outage: Outage?
    private var isShutDown = false

    init(settings: Settings) {
        self.settings = settings
    }

    /// Whether no worker is left, ending ones included.
    var isEmpty: Bool { workers.isEmpty }

    // MARK: Events

    /// Somebody wants a job done; its time counts from when a worker gets it.
    mutating func submit(_ job: JobID, _ priority: Priority, limit: Duration, now: MonotonicTime) -> [Action] {
        if isShutDown { return [.fail(job, .cancelled)] }
        if let outage, now < outage.until, !isAnyReady { return [.fail(job, .unavailable(outage.reason))] }
        let job = Job(id: job, priority: priority, limit: limit)
        switch priority {
        case .interactive: interactive.append(job)
        case .background: background.append(job)
        }
        return dispatch(now: now)
    }

    /// Nobody wants a job any longer. One that waits is dropped; a worker that has it may finish it.
    mutating func cancel(_ job: JobID) -> [Action] {
        let waiting = interactive.count + background.count
        interactive.removeAll { $0.id == job }
        background.removeAll { $0.id == job }
        if interactive.count + background.count < waiting { return [.fail(job, .cancelled)] }
        for (id, worker) in workers {
            if case .busy(let current, true, let deadline) = worker.state, current.id == job {
                workers[id]?.state = .busy(current, isWanted: false, deadline: deadline)
                return [.fail(job, .cancelled)]
            }
        }
        return []
    }

    /// A first worker is started, for what will come.
    mutating func warmUp(now: MonotonicTime) -> [Action] {
        if isShutDown || !workers.isEmpty || outage.map({ now < $0.until }) ?? false { return [] }
        return [start(now: now)]
    }

    /// A worker said hello.
    mutating func ready(_ id: WorkerID, now: MonotonicTime) -> [Action] {
        guard case .starting = workers[id]?.state else { return [] }
        workers[id]?.state = .idle(since: now)
        failedStarts = 0
        let wasOut = outage != nil
        outage = nil
        return (wasOut ? [.reportAvailable] : []) + dispatch(now: now)
    }

    /// A worker answered.
    ///
    /// - Parameter memory: bytes of memory it has now.
    mutating func answered(_ id: WorkerID, _ job: JobID, memory: Int, now: MonotonicTime) -> [Action] {
        guard let worker = workers[id] else { return [] }
        guard case .busy(let asked, let isWanted, _) = worker.state, asked.id == job else {
            return kill(id, because: "it answered what it was not asked")
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

    /// A job did not reach its worker, which has ended without anybody knowing yet. The job is not to blame, and goes to
    /// the next one; unless the worker never did any, which might go on for ever.
    mutating func notSent(to id: WorkerID) -> [Action] {
        guard let worker = workers[id], case .busy(let job, let isWanted, _) = worker.state else { return [] }
        workers[id]?.state = .dying(failedStart: nil)
        if !isWanted { return [.kill(id)] }
        if worker.jobs == 0 { return [.kill(id), .fail(job.id, .failed("the picture worker ended before it began"))] }
        switch job.priority {
        case .interactive: interactive.insert(job, at: 0)
        case .background: background.insert(job, at: 0)
        }
        return [.kill(id)]
    }

    /// A worker is no more, or never was.
    ///
    /// - Parameters:
    ///   - reason: how it ended.
    ///   - isProgramsFault: it can't be expected to start another time, as far as it is for the program.
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

    /// Time went by.
    mutating func tick(now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        for (id, worker) in workers.sorted(by: { $0.key < $1.key }) {
            switch worker.state {
            case .starting(let deadline) where deadline <= now:
                actions += kill(id, because: "it did not get ready within \(settings.startLimit.components.seconds) s")
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

    /// Everything ends.
    mutating func shutDown() -> [Action] {
        isShutDown = true
        let waiting = (interactive + background).map { Action.fail($0.id, .cancelled) }
        interactive = []
        background = []
        let working = workers.sorted { $0.key < $1.key }.flatMap { id, worker -> [Action] in
            workers[id]?.state = .dying(failedStart: nil)
            if case .busy(let job, true, _) = worker.state { return [.fail(job.id, .cancelled), .kill(id)] }
            return [.kill(id)]
        }
        return waiting + working
    }

    /// When `tick` is due; nil while nothing depends on time.
    var nextDue: MonotonicTime? {
        var times = workers.values.compactMap { worker -> MonotonicTime? in
            switch worker.state {
            case .starting(let deadline), .busy(_, _, let deadline), .retiring(let deadline): deadline
            case .idle(let since): since + idleLimit
            case .dying: nil
            }
        }
        // Jobs may wait for the end of a pause, and nothing else may ever happen. One that is starting after the pause
        // has a time of its own.
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

    /// Workers that may get work, now or later.
    private var staying: Int {
        workers.values.count { worker in
            switch worker.state {
            case .starting, .idle, .busy: true
            case .retiring, .dying: false
            }
        }
    }

    private var idleLimit: Duration { staying > 1 ? settings.extraIdle : settings.lastIdle }

    /// Gives jobs to idle workers, the one that worked last first, so that the others can go home; starts workers for
    /// jobs that are left.
    private mutating func dispatch(now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        while let worker = latestIdle, let job = nextJob() {
            workers[worker]?.state = .busy(job, isWanted: true, deadline: now + job.limit)
            actions.append(.send(job.id, to: worker))
        }
        let isPausing = outage.map { now < $0.until } ?? false
        while !isPausing, starting < (outage == nil ? waiting : min(waiting, 1)), workers.count < settings.most {
            actions.append(start(now: now))
        }
        return actions
    }

    private var waiting: Int { interactive.count + background.count }

    private var starting: Int {
        workers.values.count { if case .starting = $0.state { true } else { false } }
    }

    private var latestIdle: WorkerID? {
        workers.compactMap { id, worker -> (MonotonicTime, WorkerID)? in
            if case .idle(let since) = worker.state { (since, id) } else { nil }
        }.max { $0 < $1 }?.1
    }

    /// A job of the background that waits is passed over a few times, and then has its turn.
    private mutating func nextJob() -> Job? {
        if background.isEmpty || !interactive.isEmpty && passedOver < settings.mostPassedOver {
            if interactive.isEmpty { return nil }
            passedOver = background.isEmpty ? 0 : passedOver + 1
            return interactive.removeFirst()
        }
        passedOver = 0
        return background.removeFirst()
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

    /// While another worker is ready, only the start of further ones pauses.
    private mutating func startFailed(_ reason: String, isProgramsFault: Bool, now: MonotonicTime) -> [Action] {
        failedStarts += 1
        guard isProgramsFault || outage != nil || failedStarts >= settings.mostFailedStarts else { return [] }
        let isNew = outage == nil
        // Several that fail together are one failure.
        if outage.map({ $0.until <= now }) ?? true {
            let pause = outage.map { min($0.pause * 2, settings.longestPause) } ?? settings.firstPause
            outage = Outage(reason: reason, until: now + pause, pause: pause)
        }
        if isAnyReady { return [] }
        let left = (interactive + background).map { Action.fail($0.id, .unavailable(reason)) }
        interactive = []
        background = []
        return (isNew ? [.reportUnavailable(reason)] : []) + left
    }
}
