package import Digests
import FileWatch
import Glibc
package import LinuxSystem
import Synchronization
package import UploadCore

/// Hashes files on its own threads: one per processor, and one that helps with large files if there are several.
///
/// If there is more than one thread, large files share one, so that a picture does not wait behind an hour of video. A
/// thread takes several waiting files of a few MiB together. A thread whose read does not return is replaced (`HashThreads`).
package final class HashPool: Sendable {
    package struct Job: Sendable {
        var path: RelativePath
        /// The settled file, without any writers.
        var identity: FileIdentity
        /// Called when the type of an accepted file is known, before the rest of the file is read.
        var sniffed: (@Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void)?
        /// Called about twice a second with the number of bytes hashed so far.
        var hashed: (@Sendable (UInt64) -> Void)?
        /// Called with true if the file can't be read for seconds because its file system does not answer, and with false
        /// when it goes on.
        var stalled: (@Sendable (Bool) -> Void)?
        var done: @Sendable (HashFinding) -> Void

        package init(
            path: RelativePath, identity: FileIdentity,
            sniffed: (@Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void)? = nil,
            hashed: (@Sendable (UInt64) -> Void)? = nil, stalled: (@Sendable (Bool) -> Void)? = nil,
            done: @escaping @Sendable (HashFinding) -> Void
        ) {
            self.path = path
            self.identity = identity
            self.sniffed = sniffed
            self.hashed = hashed
            self.stalled = stalled
            self.done = done
        }
    }

    /// Files with more bytes are large. Hashing 64 MiB takes about 0.1 s.
    static let largeSize: UInt64 = 64 << 20

    /// Files with at most as many bytes are hashed several at a time.
    static let mostOfCompanion: UInt64 = 4 << 20

    /// How many of these files a thread takes together.
    static let mostTogether = MD5Hasher.mostTogether

    private let isStopped = Stop()
    private let files: OutboxFiles
    private let small: HashThreads
    private let large: HashThreads

    /// Whether the agent is ending.
    final class Stop: Sendable {
        private let flag = Atomic<Bool>(false)

        var isSet: Bool { flag.load(ordering: .relaxed) }
        func set() { flag.store(true, ordering: .relaxed) }
    }

    /// Prepares the threads, which start with the first file.
    ///
    /// - Parameters:
    ///   - withSHA256: whether to compute SHA-256 as well. Needed for files that leave the outbox after the upload.
    ///   - parts: receives the digests of parts that the protocol wants; `nil` if it wants none.
    package init(
        files: OutboxFiles, rules: IntakeRules, secret: DigestSecret, threads: Int, withSHA256: Bool = false,
        parts: PartDigestStore? = nil
    ) {
        self.files = files
        let stalls = files.mounts?.lanes.stalls ?? Stalls()
        let hasher = FileHasher(
            files: files.blocking, rules: rules, secret: secret, withSHA256: withSHA256, parts: parts,
            stop: isStopped)
        small = HashThreads(name: "hash", width: threads - 1, stalls: stalls) { hasher }
        large =
            threads > 1
            ? HashThreads(name: "hash-large", width: 1, stalls: stalls) {
                // With more than one processor, a second thread helps.
                var large = hasher
                large.helper = SerialThread(name: "hash-helper")
                return large
            } : small
    }

    /// Queues a file.
    package func add(_ job: Job) {
        let place = files.mounts?.place(of: job.path)
        let stall = Stalls.Stall(place: place?.name ?? files.root, work: "reading \(job.path)")
        var work = HashThreads.Work(device: job.identity.device, stall: stall, job: job, stalled: job.stalled)
        if job.identity.size > Self.mostOfCompanion {
            work.body = { [isStopped] hasher in
                if !isStopped.isSet { job.done(hasher.hash(job)) }
            }
        } else {
            // Where a read may not return, it must hold up no other file.
            work.isCompanionable = place == nil
        }
        threads(for: job.identity.size).add(work)
    }

    /// Hashes an open file. Returns `changed` if the agent ends meanwhile.
    package func hash(_ file: SharedDescriptor) async -> HashFinding {
        let status = try? FileStatus(of: file.rawValue)
        return await withCheckedContinuation { continuation in
            threads(for: status?.size ?? 0).add(
                HashThreads.Work(
                    device: status?.device ?? 0, stall: Stalls.Stall(place: files.root, work: "reading a file"),
                    body: { [isStopped] hasher in
                        continuation.resume(returning: isStopped.isSet ? .changed : hasher.hash(file))
                    }))
        }
    }

    private func threads(for size: UInt64) -> HashThreads { size > Self.largeSize ? large : small }

    /// The number of files that wait for a file system that does not answer.
    package var stuckCount: Int { small.stuckCount + (large === small ? 0 : large.stuckCount) }

    /// Makes the threads stop reading.
    package func stop() { isStopped.set() }

    /// Waits until the threads have stopped, except where a file system does not answer.
    package func finish() async {
        await small.finish()
        await large.finish()
    }
}
