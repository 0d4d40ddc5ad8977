package import Digests
import Glibc
package import LinuxSystem
import Synchronization
package import UploadCore

/// Hashes files on its own threads: one per processor, and one that helps with large files if there are several.
///
/// If there is more than one thread, large files share one, so that a picture does not wait behind an hour of video. A
/// thread takes several waiting small files together.
package final class HashPool: Sendable {
    package struct Job: Sendable {
        var path: RelativePath
        /// The settled file, without any writers.
        var identity: FileIdentity
        /// Called when the type of an accepted file is known, before the rest of the file is read.
        var sniffed: (@Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void)?
        /// Called about twice a second with the number of bytes hashed so far.
        var hashed: (@Sendable (UInt64) -> Void)?
        var done: @Sendable (HashFinding) -> Void

        package init(
            path: RelativePath, identity: FileIdentity,
            sniffed: (@Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void)? = nil,
            hashed: (@Sendable (UInt64) -> Void)? = nil, done: @escaping @Sendable (HashFinding) -> Void
        ) {
            self.path = path
            self.identity = identity
            self.sniffed = sniffed
            self.hashed = hashed
            self.done = done
        }
    }

    /// Files with more bytes are large. Hashing 64 MiB takes about 0.1 s.
    static let largeSize: UInt64 = 64 << 20

    /// Files with at most as many bytes fit into one read.
    static let smallSize = UInt64(FilePieces.usualSize)

    private let isStopped = Stop()
    private let hasher: FileHasher
    /// Hashes large files, with a second thread if there is more than one processor.
    private let largeHasher: FileHasher
    private let waiting = WaitingJobs()
    private let small: SerialThreads
    private let large: SerialThreads

    /// Whether the agent is ending.
    final class Stop: Sendable {
        private let flag = Atomic<Bool>(false)

        var isSet: Bool { flag.load(ordering: .relaxed) }
        func set() { flag.store(true, ordering: .relaxed) }
    }

    /// Starts the threads.
    ///
    /// - Parameters:
    ///   - checkpoints: stores the progress of large files; if `nil`, they start over after a restart.
    ///   - withSHA256: whether to compute SHA-256 as well. Needed for files that leave the outbox after the upload.
    ///   - parts: receives the digests of parts that the protocol wants; `nil` if it wants none.
    package init(
        files: OutboxFiles, rules: IntakeRules, secret: DigestSecret, threads: Int, checkpoints: HashCheckpoints? = nil,
        withSHA256: Bool = false, parts: PartDigestStore? = nil
    ) {
        hasher = FileHasher(
            files: files, rules: rules, secret: secret, withSHA256: withSHA256, parts: parts, checkpoints: checkpoints,
            stop: isStopped)
        small = SerialThreads(name: "hash", count: max(1, threads - 1))
        large = threads > 1 ? SerialThreads(name: "hash-large", count: 1) : small
        var largeHasher = hasher
        if threads > 1 { largeHasher.helper = SerialThread(name: "hash-helper") }
        self.largeHasher = largeHasher
    }

    /// Queues a file.
    package func add(_ job: Job) {
        let size = job.identity.size
        if size <= Self.smallSize {
            waiting.add(job)
            return small.run { [hasher, waiting, isStopped] in
                let jobs = waiting.take(atMost: MD5Hasher.mostTogether)
                if isStopped.isSet { return }
                for (job, finding) in zip(jobs, hasher.hash(each: jobs)) { job.done(finding) }
            }
        }
        let (lane, hasher) = lane(for: size)
        lane.run { [isStopped] in
            if isStopped.isSet { return }
            job.done(hasher.hash(job))
        }
    }

    /// Hashes an open file. Returns `changed` if the agent ends meanwhile.
    package func hash(_ file: SharedDescriptor) async -> HashFinding {
        var (lane, hasher) = lane(for: (try? FileStatus(of: file.rawValue).size) ?? 0)
        // Whoever asks wants each byte read now.
        hasher.checkpoints = nil
        return await withCheckedContinuation { continuation in
            lane.run { [hasher, isStopped] in
                continuation.resume(returning: isStopped.isSet ? .changed : hasher.hash(file))
            }
        }
    }

    private func lane(for size: UInt64) -> (SerialThreads, FileHasher) {
        size > Self.largeSize ? (large, largeHasher) : (small, hasher)
    }

    /// Makes the threads store a last checkpoint and stop reading.
    package func stop() { isStopped.set() }

    /// Waits until the threads have stopped.
    package func finish() async {
        await small.finish()
        await large.finish()
    }
}

/// Small files that no thread has taken yet, oldest first.
private final class WaitingJobs: Sendable {
    private let jobs = Mutex<[HashPool.Job]>([])

    func add(_ job: HashPool.Job) { jobs.withLock { $0.append(job) } }

    /// Removes and returns the oldest jobs.
    func take(atMost most: Int) -> [HashPool.Job] {
        jobs.withLock { jobs in
            let taken = Array(jobs.prefix(most))
            jobs.removeFirst(taken.count)
            return taken
        }
    }
}

/// Several threads that receive work in turn.
final class SerialThreads: Sendable {
    private let threads: [SerialThread]
    private let next = Atomic<Int>(0)

    init(name: String, count: Int) {
        threads = (0..<max(1, count)).map { _ in SerialThread(name: name) }
    }

    func run(_ work: @escaping @Sendable () -> Void) {
        threads[next.wrappingAdd(1, ordering: .relaxed).oldValue % threads.count].run(work)
    }

    /// Waits until all queued work is done.
    func finish() async {
        for thread in threads {
            await withCheckedContinuation { continuation in thread.run { continuation.resume() } }
        }
    }
}
