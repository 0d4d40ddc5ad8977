package import Digests
import Glibc
package import LinuxSystem
import Synchronization
package import UploadCore

/// Hashes files on its own threads, one per processor.
///
/// If there is more than one thread, large files share one, so that a picture does not wait behind an hour of video.
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

    private let files: OutboxFiles
    private let rules: IntakeRules
    private let secret: DigestSecret
    private let checkpoints: HashCheckpoints?
    private let isStopped = Stop()
    private let withSHA256: Bool
    private let parts: PartDigestStore?
    private let small: SerialThreads
    private let large: SerialThreads
    /// Computes SHA-256 of large files beside the rest; nil if none is wanted, or only one thread is.
    private let helper: SerialThread?

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
        self.checkpoints = checkpoints
        self.files = files
        self.rules = rules
        self.secret = secret
        self.withSHA256 = withSHA256
        self.parts = parts
        small = SerialThreads(name: "hash", count: max(1, threads - 1))
        large = threads > 1 ? SerialThreads(name: "hash-large", count: 1) : small
        let needsHelper = threads > 1 && (withSHA256 || parts?.sha256 == true)
        helper = needsHelper ? SerialThread(name: "hash-sha256") : nil
    }

    /// Queues a file.
    package func add(_ job: Job) {
        let isLarge = job.identity.size > Self.largeSize
        let lane = isLarge ? large : small
        lane.run { [helper = isLarge ? helper : nil, files, rules, secret, withSHA256, parts, checkpoints, isStopped] in
            if isStopped.isSet { return }
            let hasher = FileHasher(
                files: files, rules: rules, secret: secret, withSHA256: withSHA256, parts: parts, helper: helper,
                sniffed: job.sniffed, hashed: job.hashed, checkpoints: checkpoints, stop: isStopped)
            job.done(hasher.hash(job.path, foundAs: job.identity))
        }
    }

    /// Hashes an open file. Returns `changed` if the agent ends meanwhile.
    package func hash(_ file: SharedDescriptor) async -> HashFinding {
        let size = (try? FileStatus(of: file.rawValue).size) ?? 0
        return await withCheckedContinuation { continuation in
            let isLarge = size > Self.largeSize
            let lane = isLarge ? large : small
            lane.run { [helper = isLarge ? helper : nil, files, rules, secret, withSHA256, parts, isStopped] in
                let hasher = FileHasher(
                    files: files, rules: rules, secret: secret, withSHA256: withSHA256, parts: parts, helper: helper,
                    stop: isStopped)
                continuation.resume(returning: isStopped.isSet ? .changed : hasher.hash(file))
            }
        }
    }

    /// Makes the threads store a last checkpoint and stop reading.
    package func stop() { isStopped.set() }

    /// Waits until the threads have stopped.
    package func finish() async {
        await small.finish()
        await large.finish()
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
