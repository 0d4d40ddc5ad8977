import Digests
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage
import UploadCore

/// Hashes files on threads of its own, as many as there are processors.
///
/// While there is more than one thread, one of them is kept for small files, so that a picture does not wait behind an
/// hour of video.
final class HashPool: Sendable {
    struct Job: Sendable {
        var path: RelativePath
        /// The file as it was found at rest, with nobody writing to it.
        var identity: FileIdentity
        /// Called once the type of a file is known that is taken and goes on to be read.
        var sniffed: (@Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void)?
        /// Called about twice a second with the number of bytes hashed so far.
        var hashed: (@Sendable (UInt64) -> Void)?
        var done: @Sendable (HashFinding) -> Void
    }

    /// Files over this many bytes are large; 64 MiB take about 0.1 s.
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
    ///   - checkpoints: where the progress of large files is kept; nil: they start over after a restart.
    ///   - withSHA256: whether files get a SHA-256, as those need that are to leave the outbox after their upload.
    init(
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
    func add(_ job: Job) {
        let lane = job.identity.size > Self.largeSize ? large : small
        lane.run { [files, rules, secret, withSHA256, checkpoints, isStopped] in
            if isStopped.isSet { return }
            let hasher = FileHasher(
                files: files, rules: rules, secret: secret, withSHA256: withSHA256, sniffed: job.sniffed,
                hashed: job.hashed, checkpoints: checkpoints, stop: isStopped)
            job.done(hasher.hash(job.path, foundAs: job.identity))
        }
    }

    /// Has its threads give up what they read, after a last checkpoint of it.
    func stop() { isStopped.set() }

    /// Waits until the threads have stopped.
    func finish() async {
        await small.finish()
        await large.finish()
    }
}

/// Several threads that take turns.
final class SerialThreads: Sendable {
    private let threads: [SerialThread]
    private let next = Atomic<Int>(0)

    init(name: String, count: Int) {
        threads = (0..<max(1, count)).map { _ in SerialThread(name: name) }
    }

    func run(_ work: @escaping @Sendable () -> Void) {
        threads[next.wrappingAdd(1, ordering: .relaxed).oldValue % threads.count].run(work)
    }

    /// Waits until everything that was queued is done.
    func finish() async {
        for thread in threads {
            await withCheckedContinuation { continuation in thread.run { continuation.resume() } }
        }
    }
}

/// Reads one file once, from the first byte to the last, and tells everything that is to be known of it.
struct FileHasher {
    let files: OutboxFiles
    let rules: IntakeRules
    let secret: DigestSecret
    var withSHA256 = false
    var sniffed: (@Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void)?
    var hashed: (@Sendable (UInt64) -> Void)?
    var checkpoints: HashCheckpoints?
    var stop: HashPool.Stop?

    /// Bytes read between two looks at the clock.
    private static let stride: UInt64 = 16 << 20
    private static let pause = Duration.milliseconds(500)

    /// Bytes read at a time: the fastest of those measured.
    static let bufferSize = 256 * 1024

    /// Hashes a file.
    ///
    /// - Parameter found: the file when it was at rest. A writer may have come since, and paused: what it has written so
    ///   far would stand still from the first byte to the last.
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
                // ctime is the same: nothing was written since. Sending compares each block with its digest all the same.
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
            // It grew: no need to follow a writer to the end.
            if offset > before.size { return .changed }
            if offset == before.size { break }
            if stop?.isSet == true {
                if let progress = hasher.progress { checkpoint?.store(progress) }
                // A piece of a block more, so that what is kept ends with one.
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
        // Something else took the name: the watch tells what it is.
        case .invalidArgument, .tooManySymbolicLinkLevels, .noSuchAddressOrDevice: return .changed
        // Nothing the file is to blame for, or a lease that its holder is asked to give back: tried again.
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .wouldBlock: return .changed
        default:
            let message = "\(path) can't be read: \(error); check its permissions and the disk"
            return .unreadable(FileError(code: "unreadable", message: message, retryable: false))
        }
    }
}
