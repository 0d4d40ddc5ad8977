import CLinux
import Glibc
public import LinuxSystem
public import Logging
public import PictureJobs
import Synchronization
import UploadCore

/// Measures and draws pictures in processes of `outbox-media`, which may die without harm to the agent.
///
/// Starts a few processes when there is work; each does one job at a time. A process that dies or hangs costs only its
/// current job. The queue is unbounded, so callers must limit themselves: a waiting job holds its descriptors.
public final class PictureWorker: PictureWorking {
    private struct Waiting {
        let continuation: CheckedContinuation<Result<PictureFacts, PictureFailure>, Never>
        let operation: PictureJob.Operation
        let descriptors: [SharedDescriptor]
        let maximumPixels: Int
    }

    private struct State {
        var pool: WorkerPool
        var processes: [WorkerPool.WorkerID: PictureProcess] = [:]
        var waiting: [WorkerPool.JobID: Waiting] = [:]
        var lastJob: WorkerPool.JobID = 0
        var timer: (due: MonotonicTime, task: Task<Void, Never>)?
        var afterShutdown: [CheckedContinuation<Void, Never>] = []
    }

    private let program: String
    private let timeLimit: @Sendable (PictureJob.Operation) -> Duration
    private let logger: Logger
    private let state: Mutex<State>

    /// Creates a worker without starting a process.
    ///
    /// - Parameters:
    ///   - program: Absolute path of `outbox-media`, see ``find(environment:)``.
    ///   - processes: Maximum number of processes; nil: one per processor, at most four.
    public convenience init(program: String, processes: Int? = nil, logger: Logger) {
        let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        self.init(
            program: program, settings: WorkerPool.Settings(most: max(1, processes ?? min(processors, 4))),
            logger: logger)
    }

    init(
        program: String, settings: WorkerPool.Settings,
        timeLimit: @escaping @Sendable (PictureJob.Operation) -> Duration = PictureLimits.time(for:), logger: Logger
    ) {
        self.program = program
        self.timeLimit = timeLimit
        self.logger = logger
        state = Mutex(State(pool: WorkerPool(settings: settings)))
    }

    deinit {
        let (processes, waiting, timer) = state.withLock { ($0.processes, $0.waiting, $0.timer) }
        timer?.task.cancel()
        for process in processes.values { process.kill() }
        for job in waiting.values { job.continuation.resume(returning: .failure(.cancelled)) }
    }

    /// Performs a job for a waiting caller, before the jobs of ``background``.
    public func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor?,
        maximumPixels: Int
    ) async throws(PictureFailure) -> PictureFacts {
        try await perform(operation, on: picture, into: output, maximumPixels: maximumPixels, .interactive)
    }

    /// The same worker for jobs without urgency.
    public var background: some PictureWorking { LowPriorityPictures(worker: self, priority: .background) }

    /// The same worker for long jobs without urgency, which come after those of ``background``.
    public var bulk: some PictureWorking { LowPriorityPictures(worker: self, priority: .bulk) }

    /// A line for display if the program is missing, with advice; nil if it exists.
    package var missing: String? {
        access(program, X_OK) == 0
            ? nil : "\(program) is missing; install it beside outbox, or set OUTBOX_MEDIA to its path"
    }

    /// Starts a first process, so that the first job does not wait for the start.
    public func warmUp() {
        handle { $0.pool.warmUp(now: $1) }
    }

    /// Ends all processes; jobs fail as cancelled. Returns after the last process has ended.
    public func shutdown() async {
        await withCheckedContinuation { continuation in
            handle { state, _ in
                state.afterShutdown.append(continuation)
                return state.pool.shutDown()
            }
        }
    }

    /// Number of jobs without an answer.
    var waitingJobs: Int { state.withLock { $0.waiting.count } }

    /// Process ids of the running processes.
    var processIDs: [pid_t] { state.withLock { $0.processes.values.compactMap(\.pid) } }

    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor?,
        maximumPixels: Int, _ priority: WorkerPool.Priority
    ) async throws(PictureFailure) -> PictureFacts {
        let picture = try Self.readOnly(picture)
        let id = state.withLock { state in
            state.lastJob += 1
            return state.lastJob
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let job = Waiting(
                    continuation: continuation, operation: operation,
                    descriptors: [picture] + (output.map { [$0] } ?? []), maximumPixels: maximumPixels)
                handle { state, now in
                    state.waiting[id] = job
                    return state.pool.submit(id, priority, limit: timeLimit(operation), now: now)
                }
                // The task was cancelled before the job was registered.
                if Task.isCancelled { cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
        return try result.get()
    }

    /// Returns the picture opened read-only, so that a worker can never write to it.
    private static func readOnly(_ picture: SharedDescriptor) throws(PictureFailure) -> SharedDescriptor {
        do {
            let flags = try retryingOnInterrupt { outbox_fcntl(picture.rawValue, F_GETFL, 0) }
            if flags & O_ACCMODE == O_RDONLY { return picture }
            return try SharedDescriptor(opening: "/proc/self/fd/\(picture.rawValue)", flags: O_RDONLY)
        } catch {
            throw .failed("the picture cannot be opened read-only: \(error)")
        }
    }

    private func cancel(_ id: WorkerPool.JobID) {
        handle { state, _ in state.pool.cancel(id) }
    }

    // MARK: Driving the pool

    /// Passes an event to the pool under the lock, and performs its actions after unlocking.
    private func handle(_ event: (inout State, MonotonicTime) -> [WorkerPool.Action]) {
        let effects = state.withLock { state in
            // This clock stops during system sleep: sleep must not make a job late.
            let now = MonotonicTime(nanoseconds: monotonicNanoseconds())
            var effects = event(&state, now).flatMap { self.effects(of: $0, in: &state) }
            if state.pool.isEmpty {
                let continuations = state.afterShutdown
                state.afterShutdown = []
                effects.append { for continuation in continuations { continuation.resume() } }
            }
            setTimer(in: &state, now: now)
            return effects
        }
        for effect in effects { effect() }
    }

    private func effects(of action: WorkerPool.Action, in state: inout State) -> [() -> Void] {
        switch action {
        case .start(let id):
            let process = PictureProcess(program: program)
            state.processes[id] = process
            return [{ process.start { [weak self] report in self?.take(report, from: id) } }]
        case .send(let job, let id):
            // Sent at once: if the sending fails, the picture is not to blame for the worker's end.
            return isSent(job, to: id, in: state)
                ? [] : state.pool.notSent(to: id).flatMap { effects(of: $0, in: &state) }
        case .retire(let id):
            return state.processes[id].map { process in [{ process.retire() }] } ?? []
        case .kill(let id):
            return state.processes[id].map { process in [{ process.kill() }] } ?? []
        case .deliver:
            // Performed where the answer is known.
            return []
        case .fail(let job, let failure):
            guard let waiting = state.waiting.removeValue(forKey: job) else { return [] }
            return [{ waiting.continuation.resume(returning: .failure(failure)) }]
        case .reportUnavailable(let reason):
            return [
                { [logger] in
                    logger.warning(
                        "pictures can't be measured or drawn; uploads continue without sizes and thumbnails",
                        metadata: ["reason": "\(reason)"])
                }
            ]
        case .reportAvailable:
            return [{ [logger] in logger.notice("pictures can be measured and drawn again") }]
        }
    }

    private func isSent(_ id: WorkerPool.JobID, to worker: WorkerPool.WorkerID, in state: State) -> Bool {
        guard let process = state.processes[worker], let job = state.waiting[id] else { return false }
        let packet = PictureJob(id: id, operation: job.operation, maximumPixels: job.maximumPixels)
        return process.send(packet, job.descriptors)
    }

    private func take(_ report: PictureProcess.Report, from id: WorkerPool.WorkerID) {
        switch report {
        case .ready(let hello):
            logger.debug(
                "picture worker started",
                metadata: [
                    "library": "\(hello.library)", "sandbox": "\(hello.sandbox.map(\.rawValue).joined(separator: " "))",
                ])
            handle { $0.pool.ready(id, now: $1) }
        case .answered(let answer, let memory):
            var delivery: (() -> Void)?
            handle { state, now in
                let actions = state.pool.answered(id, answer.id, memory: memory, now: now)
                if actions.contains(.deliver(answer.id)), let job = state.waiting.removeValue(forKey: answer.id) {
                    delivery = { job.continuation.resume(returning: answer.outcome.result) }
                }
                return actions
            }
            delivery?()
        case .ended(let reason, let isProgramsFault):
            logger.debug("picture worker ended", metadata: ["reason": "\(reason)"])
            handle { state, now in
                state.processes[id] = nil
                return state.pool.ended(id, reason, isProgramsFault: isProgramsFault, now: now)
            }
        }
    }

    private func setTimer(in state: inout State, now: MonotonicTime) {
        guard let due = state.pool.nextDue else {
            state.timer?.task.cancel()
            state.timer = nil
            return
        }
        // An early timer does no harm, and a timer for each job would be wasteful.
        if let timer = state.timer, timer.due <= due { return }
        state.timer?.task.cancel()
        let task = Task { [weak self] in
            try? await Timers.sleep(for: max(due - now, .zero))
            guard !Task.isCancelled, let self else { return }
            handle { state, now in
                state.timer = nil
                return state.pool.tick(now: now)
            }
        }
        state.timer = (due, task)
    }
}

/// The same worker, with low priority for all jobs.
private struct LowPriorityPictures: PictureWorking {
    let worker: PictureWorker
    let priority: WorkerPool.Priority

    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor?,
        maximumPixels: Int
    ) async throws(PictureFailure) -> PictureFacts {
        try await worker.perform(operation, on: picture, into: output, maximumPixels: maximumPixels, priority)
    }
}

extension PictureAnswer.Outcome {
    fileprivate var result: Result<PictureFacts, PictureFailure> {
        switch self {
        case .done(let facts): .success(facts)
        case .refused(let refusal): .failure(.refused(refusal))
        case .failed(let reason): .failure(.failed(reason))
        }
    }
}

extension PictureWorker {
    /// Finds the worker program: `$OUTBOX_MEDIA`, otherwise beside the running program, otherwise in
    /// `../libexec/outbox` from there.
    ///
    /// - Returns: An absolute path. If there is no such program, the path of a file that can't be executed, or the one
    ///   where it is to be installed, so that a failed start names that path.
    public static func find(environment: [String: String]) -> String {
        let running = String(decoding: runningProgram() ?? [], as: UTF8.self)
        return find(
            environment: environment, beside: running, isProgram: { access($0, X_OK) == 0 },
            exists: { access($0, F_OK) == 0 })
    }

    static func find(
        environment: [String: String], beside running: String, isProgram: (String) -> Bool,
        exists: (String) -> Bool = { _ in false }
    ) -> String {
        if let told = environment["OUTBOX_MEDIA"], told.hasPrefix("/") { return told }
        let parts = running.split(separator: "/").dropLast().map { "/\($0)" }
        let inLibrary = parts.dropLast().joined() + "/libexec/outbox/outbox-media"
        let candidates = [parts.joined() + "/outbox-media", inLibrary]
        // Packages put programs in /usr/bin and the worker in /usr/libexec.
        let expected = parts.last == "/bin" ? inLibrary : candidates[0]
        return candidates.first(where: isProgram) ?? candidates.first(where: exists) ?? expected
    }
}
