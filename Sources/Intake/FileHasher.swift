import Digests
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// Reads files once from start to end, and determines type, content key and digests.
struct FileHasher {
    let files: OutboxFiles
    let rules: IntakeRules
    let secret: DigestSecret
    var withSHA256 = false
    var parts: PartDigestStore?
    var helper: SerialThread?
    var checkpoints: HashCheckpoints?
    var stop: HashPool.Stop?
    /// Told that reading advances.
    var activity: Stalls.Activity?

    /// Bytes read between two checks of the clock.
    private static let stride: UInt64 = 16 << 20
    private static let pause = Duration.milliseconds(500)

    /// Hashes a file.
    ///
    /// - Parameter job: says how the file was when it had settled. If a writer came since and paused, the file would stay
    ///   unchanged from the first byte to the last.
    func hash(_ job: HashPool.Job) -> HashFinding {
        do throws(Errno) {
            let (file, status) = try files.open(job.path)
            if let objection = objection(to: status, of: job) { return objection }
            return try read(file, status, job)
        } catch {
            return failure(error, job.path)
        }
    }

    /// Hashes an open file.
    func hash(_ file: SharedDescriptor) -> HashFinding {
        do {
            return try read(file, try FileStatus(of: file.rawValue), nil)
        } catch {
            return failure(error, .root)
        }
    }

    /// - Parameter job: nil for an open file that no job names.
    private func read(
        _ file: SharedDescriptor, _ before: FileStatus, _ job: HashPool.Job?
    ) throws(Errno) -> HashFinding {
        if before.size > FilePieces.usualSize { _ = posix_fadvise(file.rawValue, 0, 0, POSIX_FADV_SEQUENTIAL) }
        let pieces = FilePieces(of: file, size: before.size, isReadAhead: helper != nil)
        var hasher = ContentHasher(
            secret: secret, withSHA256: withSHA256, parts: parts?.wish(forSize: before.size), helper: helper)
        let checkpoint = checkpoints?.checkpoint(of: FileIdentity(before), secret: secret)
        defer { if stop?.isSet != true { checkpoint?.remove() } }
        try pieces.read(at: 0)
        let (type, objection) = sniff(pieces.bytes, file, before, job)
        if let objection { return objection }
        var offset: UInt64 = 0
        // With the same ctime, nothing was written since. Sending still compares each block with its digest.
        if let progress = checkpoint?.load(),
            let further = ContentHasher(secret: secret, withSHA256: withSHA256, helper: helper, continuing: progress)
        {
            hasher = further
            offset = progress.size
            job?.hashed?(offset)
            try pieces.read(at: offset)
        }
        var told = Self.now()
        var nextCheck = offset + Self.stride
        while !pieces.bytes.isEmpty {
            let end = offset + UInt64(pieces.bytes.count)
            hasher.update(pieces.bytes) { if end < before.size { pieces.readNext(at: end) } }
            offset = end
            activity?.progress()
            // The file grew. Do not follow its writer to the end.
            if offset > before.size { return .changed }
            if offset == before.size { break }
            if stop?.isSet == true {
                if let progress = hasher.progress { checkpoint?.store(progress) }
                // Otherwise read the rest of the block, since a checkpoint must end with a whole block.
                if hasher.progress != nil || checkpoint == nil { return .changed }
            }
            if offset >= nextCheck {
                nextCheck = offset + Self.stride
                if checkpoint?.isDue == true, let progress = hasher.progress { checkpoint?.store(progress) }
                if Self.now() - told >= Self.pause {
                    told = Self.now()
                    job?.hashed?(offset)
                }
            }
            try pieces.takeNext()
        }
        guard offset == before.size else { return .changed }
        return try finish(file, before, type, &hasher)
    }

    /// Returns why the opened file is not the settled one or not taken; nil if it is taken.
    private func objection(to status: FileStatus, of job: HashPool.Job) -> HashFinding? {
        let identity = FileIdentity(status)
        guard job.identity.isSameFile(as: identity) else { return .changed }
        return rules.objection(toSize: status.size).map { .rejected(identity, nil, $0) }
    }

    /// Determines the type by the first bytes of a file, and reports it to the job.
    private func sniff(
        _ bytes: UnsafeRawBufferPointer, _ file: SharedDescriptor, _ status: FileStatus, _ job: HashPool.Job?
    ) -> (type: MediaType, objection: HashFinding?) {
        let type = MediaSignatures.sniff(bytes) ?? .other
        let picture = type == .other ? MediaSignatures.nameOfUnknownPicture(bytes) : nil
        if let objection = rules.objection(toType: type, picture: picture) {
            return (type, .rejected(FileIdentity(status), type, objection))
        }
        if let job { job.sniffed?(job.path, FileIdentity(status), type, file) }
        return (type, nil)
    }

    /// Returns the digests of a file that was read to its end, unless it changed meanwhile.
    private func finish(
        _ file: SharedDescriptor, _ before: FileStatus, _ type: MediaType, _ hasher: inout ContentHasher,
        md5: [UInt8]? = nil
    ) throws(Errno) -> HashFinding {
        let identity = FileIdentity(try FileStatus(of: file.rawValue))
        guard identity == FileIdentity(before) else { return .changed }
        let (content, digests, partDigests) = hasher.finish(md5: md5)
        if let partDigests { parts?.store(partDigests, of: content.key) }
        return .content(identity, type, content, digests: digests)
    }

    // MARK: Small files together

    /// A small file whose bytes are in memory, and whose MD5 is missing.
    private struct WholeFile {
        var file: SharedDescriptor
        var status: FileStatus
        var type: MediaType
        var bytes: UnsafeRawBufferPointer
        /// Computes the rest.
        var hasher: ContentHasher
    }

    private enum Reading {
        case whole(WholeFile)
        case ended(HashFinding)
    }

    /// Hashes files of at most ``FilePieces/usualSize`` bytes together, because several MD5s at once take little longer than one.
    ///
    /// - Returns: the findings in the order of the jobs.
    func hash(each jobs: [HashPool.Job]) -> [HashFinding] {
        if stop?.isSet == true { return [] }
        guard jobs.count > 1 else { return jobs.map(hash) }
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: jobs.reduce(0) { $0 + Int(clamping: $1.identity.size) }, alignment: 64)
        defer { memory.deallocate() }
        var rest = memory[...]
        let outbox = try? files.outbox.open()
        let readings = jobs.map { job in
            activity?.progress()
            let bytes = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(Int(clamping: job.identity.size)))
            rest = rest.dropFirst(bytes.count)
            do throws(Errno) {
                return try readWhole(job, in: outbox, into: bytes)
            } catch {
                return .ended(failure(error, job.path))
            }
        }
        let wholes = readings.compactMap { if case .whole(let whole) = $0 { whole.bytes } else { nil } }
        var md5s = MD5Hasher.hash(each: wholes)[...]
        return zip(jobs, readings).map { job, reading in
            switch reading {
            case .ended(let finding): return finding
            case .whole(var whole):
                let md5 = md5s.popFirst()
                do throws(Errno) {
                    return try finish(whole.file, whole.status, whole.type, &whole.hasher, md5: md5)
                } catch {
                    return failure(error, job.path)
                }
            }
        }
    }

    private func readWhole(
        _ job: HashPool.Job, in outbox: Directory?, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Reading {
        let (file, status) = try files.open(job.path, in: outbox)
        if let objection = objection(to: status, of: job) { return .ended(objection) }
        guard status.size == buffer.count, try file.read(into: buffer, at: 0) == buffer.count else {
            return .ended(.changed)
        }
        let bytes = UnsafeRawBufferPointer(buffer)
        let (type, objection) = sniff(bytes, file, status, job)
        if let objection { return .ended(objection) }
        var hasher = ContentHasher(
            secret: secret, withMD5: false, withSHA256: withSHA256, parts: parts?.wish(forSize: status.size))
        hasher.update(bytes)
        return .whole(WholeFile(file: file, status: status, type: type, bytes: bytes, hasher: hasher))
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
