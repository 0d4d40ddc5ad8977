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
        let (file, status): (SharedDescriptor, FileStatus)
        do throws(Errno) {
            (file, status) = try files.open(job.path)
        } catch {
            return failure(error, of: .open, job.path)
        }
        if let objection = objection(to: status, of: job) { return objection }
        do throws(Errno) {
            return try read(file, status, job)
        } catch {
            return failure(error, of: .read, job.path)
        }
    }

    /// Hashes an open file.
    func hash(_ file: SharedDescriptor) -> HashFinding {
        do {
            return try read(file, try FileStatus(of: file.rawValue), nil)
        } catch {
            return failure(error, of: .read, .root)
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
        try pieces.read(at: 0)
        let (type, objection) = sniff(pieces.bytes, file, before, job)
        if let objection { return objection }
        var offset: UInt64 = 0
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
            if stop?.isSet == true { return .changed }
            if offset >= nextCheck {
                nextCheck = offset + Self.stride
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

    // MARK: Files together

    /// A file that is hashed beside others, piece by piece.
    private struct Companion {
        let job: HashPool.Job
        let file: SharedDescriptor
        let status: FileStatus
        /// Known from the first piece on.
        var type = MediaType.other
        /// Computes all but the MD5.
        var hasher: ContentHasher
        var md5 = MD5Hasher()
        var offset: UInt64 = 0
    }

    /// Hashes files of at most ``HashPool/mostOfCompanion`` bytes together, because several MD5s at once take little longer
    /// than one. Reads a piece of each in turn.
    ///
    /// - Returns: the findings in the order of the jobs.
    func hash(each jobs: [HashPool.Job]) -> [HashFinding] {
        if stop?.isSet == true { return [] }
        guard jobs.count > 1 else { return jobs.map(hash) }
        let pieceSizes = jobs.map { min(FilePieces.usualSize, Int(clamping: $0.identity.size)) }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSizes.reduce(0, +), alignment: 64)
        defer { memory.deallocate() }
        var rest = memory[...]
        let buffers = pieceSizes.map { size in
            defer { rest = rest.dropFirst(size) }
            return UnsafeMutableRawBufferPointer(rebasing: rest.prefix(size))
        }
        let outbox = try? files.outbox.open()
        var findings: [HashFinding?] = Array(repeating: nil, count: jobs.count)
        var companions: [(index: Int, file: Companion)] = []
        for (index, job) in jobs.enumerated() {
            do throws(NoContent) {
                companions.append((index, try companion(job, in: outbox)))
            } catch {
                findings[index] = error.finding
            }
        }
        while !companions.isEmpty {
            var pieces: [UnsafeRawBufferPointer] = []
            companions = companions.compactMap { index, file in
                activity?.progress()
                var file = file
                do throws(NoContent) {
                    pieces.append(try readPiece(of: &file, into: buffers[index]))
                    return (index, file)
                } catch {
                    findings[index] = error.finding
                    return nil
                }
            }
            var md5s = companions.map(\.file.md5)
            MD5Hasher.update(each: &md5s, pieces)
            companions = zip(companions, md5s).compactMap { companion, md5 in
                var (index, file) = companion
                file.md5 = md5
                guard file.offset == file.status.size else { return (index, file) }
                findings[index] = finish(&file)
                return nil
            }
        }
        return findings.compactMap(\.self)
    }

    /// Why a file has no digest.
    private struct NoContent: Error {
        let finding: HashFinding
    }

    private func companion(_ job: HashPool.Job, in outbox: Directory?) throws(NoContent) -> Companion {
        let (file, status): (SharedDescriptor, FileStatus)
        do throws(Errno) {
            (file, status) = try files.open(job.path, in: outbox)
        } catch {
            throw NoContent(finding: failure(error, of: .open, job.path))
        }
        if let objection = objection(to: status, of: job) { throw NoContent(finding: objection) }
        let hasher = ContentHasher(
            secret: secret, withMD5: false, withSHA256: withSHA256, parts: parts?.wish(forSize: status.size))
        return Companion(job: job, file: file, status: status, hasher: hasher)
    }

    private func readPiece(
        of companion: inout Companion, into buffer: UnsafeMutableRawBufferPointer
    ) throws(NoContent) -> UnsafeRawBufferPointer {
        let left = companion.status.size - companion.offset
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: left)))
        let count: Int
        do throws(Errno) {
            count = try companion.file.read(into: piece, at: companion.offset)
        } catch {
            throw NoContent(finding: failure(error, of: .read, companion.job.path))
        }
        // Otherwise the file is shorter now.
        guard count == piece.count else { throw NoContent(finding: .changed) }
        let bytes = UnsafeRawBufferPointer(piece)
        if companion.offset == 0 {
            let (type, objection) = sniff(bytes, companion.file, companion.status, companion.job)
            if let objection { throw NoContent(finding: objection) }
            companion.type = type
        }
        companion.hasher.update(bytes)
        companion.offset += UInt64(bytes.count)
        return bytes
    }

    private func finish(_ companion: inout Companion) -> HashFinding {
        do throws(Errno) {
            return try finish(
                companion.file, companion.status, companion.type, &companion.hasher, md5: companion.md5.finish())
        } catch {
            return failure(error, of: .read, companion.job.path)
        }
    }

    private static func now() -> MonotonicTime { MonotonicTime(nanoseconds: bootTimeNanoseconds()) }

    private func failure(_ error: Errno, of call: LocalError.Call, _ path: RelativePath) -> HashFinding {
        let meaning = LocalError(error, of: call)
        switch meaning {
        case .missing, .stale: return .missing
        // Something else has the name now. The watch reports it.
        case .replaced: return .changed
        // The watch waits until it can open the file.
        case .busy, .shortage: return .changed
        case .away, .refused, .unusable:
            return .unreadable(
                .unreadable("\(path)", "\(error)", meaning.remedy, isPassing: meaning.isPassing))
        }
    }
}
