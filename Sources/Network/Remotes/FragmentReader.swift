public import Digests
public import LinuxSystem
import SystemPackage
public import Transport
public import UploadCore

/// The bytes of one fragment, read from the file while the fragment is sent, and compared with what hashing learned of
/// them.
///
/// The reader returns the last bytes of a block only after checking the whole block. If the block differs, reading
/// throws a `SourceProblem`, the transport closes the connection, and the server never gets a complete fragment of
/// changed bytes. For servers that keep incomplete fragments, see `CheckedBody`.
public final class FragmentReader: BodySource, @unchecked Sendable {
    /// What hashing learned of the bytes.
    public enum Expected: Sendable {
        /// The digests of the fragment's blocks, in order.
        case digests([UInt64])
        /// The seal of a content of one block. The fragment is the whole content.
        case seal(ContentSeal)

        /// Returns what is known of some of the fragment's blocks.
        fileprivate func part(_ blocks: Range<Int>) -> Expected {
            guard case .digests(let digests) = self else { return self }
            return .digests(Array(digests.dropFirst(blocks.lowerBound).prefix(blocks.count)))
        }
    }

    // Unchecked: only one thread at a time calls a body source, and no other code uses `offset` and `digester`.
    private var offset: UInt64
    private let digester: BlockDigester
    private let file: SharedDescriptor
    private let path: RelativePath
    private let range: Range<UInt64>
    private let expected: Expected
    private let secret: DigestSecret
    private let lane: Lanes.Lane?

    /// Prepares a fragment for reading.
    ///
    /// - Parameters:
    ///   - file: open for reading.
    ///   - path: the file's path for errors.
    ///   - range: the fragment's bytes; its start is a multiple of 512 KiB.
    ///   - expected: what the bytes in `range` must match.
    ///   - secret: the key of the digests.
    ///   - lane: reads the file if its file system may not answer.
    public init(
        file: SharedDescriptor, path: RelativePath, range: Range<UInt64>, expected: Expected, secret: DigestSecret,
        lane: Lanes.Lane? = nil
    ) {
        self.lane = lane
        self.file = file
        self.path = path
        self.range = range
        self.expected = expected
        self.secret = secret
        offset = range.lowerBound
        digester = BlockDigester(secret: secret)
    }

    /// Returns the bytes of the fragment between two offsets within it. Reads only the blocks that hold these bytes.
    ///
    /// - Parameters:
    ///   - start: the offset of the first byte.
    ///   - end: the offset behind the last byte, a multiple of 512 KiB; nil for all that follow.
    public func part(from start: UInt64, to end: UInt64? = nil) -> any BodySource {
        let blockSize = UInt64(BlockDigester.blockSize)
        let limit = min(end ?? length, length)
        let start = min(start, limit)
        let blocks = Int(start / blockSize)..<Int((limit + blockSize - 1) / blockSize)
        let base = UInt64(blocks.lowerBound) * blockSize
        let reader = FragmentReader(
            file: file, path: path, range: range.lowerBound + base..<range.lowerBound + limit,
            expected: expected.part(blocks), secret: secret, lane: lane)
        return start == base ? reader : SkippingBody(reader, skip: start - base)
    }

    /// Number of bytes in the fragment.
    public var length: UInt64 { UInt64(range.count) }

    /// Reads the next bytes; see `BodySource`.
    ///
    /// - Throws: `SourceProblem` if the bytes changed since hashing or cannot be read.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let position = offset - range.lowerBound
        let blockSize = UInt64(BlockDigester.blockSize)
        let blockEnd = min(range.upperBound, range.lowerBound + (position / blockSize + 1) * blockSize)
        let wanted = min(buffer.count, Int(blockEnd - offset))
        if wanted == 0 { return 0 }
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
        try fill(target)
        digester.update(UnsafeRawBufferPointer(target))
        offset += UInt64(wanted)
        if offset == blockEnd, !isBlockUnchanged(Int(position / blockSize)) {
            throw SourceProblem(path: path, kind: .changed)
        }
        return wanted
    }

    /// Whether the block that was just read is the one that was hashed.
    private func isBlockUnchanged(_ index: Int) -> Bool {
        let digest = digester.finish()
        switch expected {
        case .digests(let digests): return index < digests.count && digest == digests[index]
        case .seal(let seal): return digester.seal(of: [digest]) == seal.digest
        }
    }

    private func fill(_ target: UnsafeMutableRawBufferPointer) throws(SourceProblem) {
        let count: Int
        do throws(Errno) {
            count = try readNext(into: target)
        } catch {
            let meaning = LocalError(error, of: .read)
            let problem = FileError.unreadable(
                "\(path)", "\(error)", meaning.remedy, isPassing: meaning.isPassing)
            throw SourceProblem(path: path, kind: .unreadable(problem))
        }
        // The file shrank: libcurl would wait for ever for the rest.
        if count < target.count { throw SourceProblem(path: path, kind: .changed) }
    }

    private func readNext(into target: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        guard let lane else { return try file.read(into: target, at: offset) }
        // The call may outlive the buffer.
        let bytes = try lane.call("reading \(path) from \(offset) to \(offset + UInt64(target.count))") {
            [file, offset, size = target.count] () throws(Errno) in
            var bytes = [UInt8](repeating: 0, count: size)
            let count = try bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(Errno) in try file.read(into: buffer, at: offset) }
            }.get()
            return Array(bytes.prefix(count))
        }
        target.copyBytes(from: bytes)
        return bytes.count
    }

    /// Returns to the fragment's first byte.
    public func rewind() {
        digester.reset()
        offset = range.lowerBound
    }
}
