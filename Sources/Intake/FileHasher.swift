import Digests
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// Reads a file once from start to end, and determines type, content key and digests.
struct FileHasher {
    let files: OutboxFiles
    let rules: IntakeRules
    let secret: DigestSecret
    var withSHA256 = false
    var parts: PartDigestStore?
    var helper: SerialThread?
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

    /// Hashes an open file.
    func hash(_ file: SharedDescriptor) -> HashFinding {
        do {
            return try read(file, .root, try FileStatus(of: file.rawValue))
        } catch {
            return failure(error, .root)
        }
    }

    private func read(
        _ file: SharedDescriptor, _ path: RelativePath, _ before: FileStatus
    ) throws(Errno) -> HashFinding {
        let length = Int(min(UInt64(Self.bufferSize), before.size))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 64)
        defer { buffer.deallocate() }
        if before.size > length { _ = posix_fadvise(file.rawValue, 0, 0, POSIX_FADV_SEQUENTIAL) }
        var hasher = ContentHasher(
            secret: secret, withSHA256: withSHA256, parts: parts?.wish(forSize: before.size), helper: helper)
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
                    let further = ContentHasher(
                        secret: secret, withSHA256: withSHA256, helper: helper, continuing: progress)
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
        let (content, digests, partDigests) = hasher.finish()
        if let partDigests { parts?.store(partDigests, of: content.key) }
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
