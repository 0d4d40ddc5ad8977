package import Digests
import Glibc
package import LinuxSystem
import Synchronization
import SystemPackage
package import UploadCore

/// Hashes files on its own threads, one per processor.
///
/// If there is more than one thread, large files share one, so that a picture does not wait behind an hour of video.
package final class HashPool: Sendable {
    package struct Job: Sendable {
        package var path: RelativePath
        /// The settled file, without any writers.
        package var identity: FileIdentity
        /// Called when the type of an accepted file is known, before the rest of the file is read.
        package var sniffed: (@Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void)?
        /// Called about twice a second with the number of bytes hashed so far.
        package var hashed: (@Sendable (UInt64) -> Void)?
        package var done: @Sendable (HashFinding) -> Void

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
    package init(
        files: OutboxFiles, rules: IntakeRules, secret: DigestSecret, threads: Int, checkpoints: HashCheckpoints? = nil,
        withSHA256: Bool = false
    ) {
        self.checkpoints = checkpoints
        self.files = files
        self.rules = rules
        self.secret = secret
        self.withSHA256 = withSHA256
        small = SerialThreads(name: "hash", count: max(1, threads - 1))
        large = threads > 1 ? SerialThreads(name: "hash-large", count: 1) : small
    }

    /// Queues a file.
    package func add(_ job: Job) {
        let lane = job.identity.size > Self.largeSize ? large : small
        lane.run { [files, rules, secret, withSHA256, checkpoints, isStopped] in
            if isStopped.isSet { return }
            let hasher = FileHasher(
                files: files, rules: rules, secret: secret, withSHA256: withSHA256, sniffed: job.sniffed,
                hashed: job.hashed, checkpoints: checkpoints, stop: isStopped)
            job.done(hasher.hash(job.path, foundAs: job.identity))
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

/// Reads a file once from start to end, and determines type, content key and digests.
struct FileHasher {
    let files: OutboxFiles
    let rules: IntakeRules
    let secret: DigestSecret
    var withSHA256 = false
    var sniffed: (@Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void)?
    var hashed: (@Sendable (UInt64) -> Void)?
    var checkpoints: HashCheckpoints?
    var stop: HashPool.Stop?

    /// Bytes read between two checks of the clock.
    private static let stride: UInt64 = 16 << 20
    private static let pause = Duration.milliseconds(500)

    /// Bytes per read; the fastest of the measured sizes.
    static let bufferSize = 256 * 1024

    /// Hashes a file.
    ///
    /// - Parameter found: the file when it had settled. Compared with the opened file: if a writer came since and
    ///   paused, the file would stay unchanged from the first byte to the last.
    func hash(_ path: RelativePath, foundAs found: FileIdentity) -> HashFinding {
        do {
            let (file, before) = try files.open(path)
            guard found.isSameFile(as: FileIdentity(before)) else { return .changed }
            if let objection = rules.objection(toSize: before.size) {
                return .rejected(FileIdentity(before), nil, objection)
            }
            return try read(file, path, before)
        } catch {
            return failure(error, path)
        }
    }

    private func read(
        _ file: SharedDescriptor, _ path: RelativePath, _ before: FileStatus
    ) throws(Errno) -> HashFinding {
        let length = Int(min(UInt64(Self.bufferSize), before.size))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 64)
        defer { buffer.deallocate() }
        _ = posix_fadvise(file.rawValue, 0, 0, POSIX_FADV_SEQUENTIAL)
        var hasher = ContentHasher(secret: secret, withSHA256: withSHA256)
        var type = MediaType.other
        var offset: UInt64 = 0
        var told = Self.now()
        let checkpoint = checkpoints?.checkpoint(of: FileIdentity(before), secret: secret)
        defer { if stop?.isSet != true { checkpoint?.remove() } }
        while true {
            let count = try file.read(into: buffer, at: offset)
            if offset == 0 {
                let prefix = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                type = MediaSignatures.sniff(prefix) ?? .other
                let picture = type == .other ? MediaSignatures.nameOfUnknownPicture(prefix) : nil
                if let objection = rules.objection(toType: type, picture: picture) {
                    return .rejected(FileIdentity(before), type, objection)
                }
                sniffed?(path, FileIdentity(before), type, file)
                // With the same ctime, nothing was written since. Sending still compares each block with its digest.
                if let progress = checkpoint?.load(),
                    let further = ContentHasher(secret: secret, withSHA256: withSHA256, continuing: progress)
                {
                    hasher = further
                    offset = progress.size
                    hashed?(offset)
                    continue
                }
            }
            if count == 0 { break }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += UInt64(count)
            // The file grew. Do not follow its writer to the end.
            if offset > before.size { return .changed }
            if offset == before.size { break }
            if stop?.isSet == true {
                if let progress = hasher.progress { checkpoint?.store(progress) }
                // Otherwise read the rest of the block, since a checkpoint must end with a whole block.
                if hasher.progress != nil || checkpoint == nil { return .changed }
            }
            if offset % Self.stride == 0 {
                if checkpoint?.isDue == true, let progress = hasher.progress { checkpoint?.store(progress) }
                if Self.now() - told >= Self.pause {
                    told = Self.now()
                    hashed?(offset)
                }
            }
        }
        let after = try FileStatus(of: file.rawValue)
        guard FileIdentity(after) == FileIdentity(before), offset == before.size else { return .changed }
        let (content, digests) = hasher.finish()
        return .content(FileIdentity(after), type, content, digests: digests)
    }

    private static func now() -> MonotonicTime { MonotonicTime(nanoseconds: bootTimeNanoseconds()) }

    private func failure(_ error: Errno, _ path: RelativePath) -> HashFinding {
        switch error {
        case .noSuchFileOrDirectory, .notDirectory, .staleNFSFileHandle: return .missing
        // Something else has the name now. The watch reports it.
        case .invalidArgument, .tooManySymbolicLinkLevels, .noSuchAddressOrDevice: return .changed
        // Resource shortages and a lease that its holder must give back are not the file's fault. Retry.
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .wouldBlock: return .changed
        default:
            let message = "\(path) can't be read: \(error); check its permissions and the disk"
            return .unreadable(FileError(code: "unreadable", message: message, retryable: false))
        }
    }
}
