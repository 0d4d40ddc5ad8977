import Digests
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// How far large files were hashed, in `<state>/hashing`: after a restart the agent goes on from there.
struct HashCheckpoints: Sendable {
    let directory: String
    /// Smaller files are hashed again from the start; bytes.
    var leastSize: UInt64 = 1 << 30
    /// Time between two checkpoints: a digest of eight bytes for each 512 KiB is written by the way.
    var interval = Duration.seconds(30)

    /// Checkpoints of files that nobody hashed for so long are removed; seconds.
    private static let longestAge: Int64 = 14 * 24 * 3600

    /// The checkpoint of a file; nil where the file is too small.
    func checkpoint(of file: FileIdentity, secret: DigestSecret) -> HashCheckpointFile? {
        guard file.size >= leastSize else { return nil }
        // Names one file; which state of it, the content says.
        let name = [file.device, file.inode, UInt64(bitPattern: file.born)].map { String($0, radix: 16) }
        return HashCheckpointFile(
            path: "\(directory)/\(name.joined(separator: "-"))", identity: file, secret: secret, interval: interval)
    }

    /// Removes what is left of files that vanished before they were hashed.
    func removeOld() {
        guard let opened = try? Directory(path: directory), let entries = try? opened.entries() else { return }
        for entry in entries {
            guard let status = try? opened.status(entry.name), status.kind == .regular,
                wallTimeMilliseconds() / 1000 - status.modified / 1_000_000_000 > Self.longestAge
            else { continue }
            try? opened.unlink(entry.name)
        }
    }
}

/// The checkpoints of one file: a header that names the very state of the file, then records that are only ever appended.
///
/// Every record carries a digest that is keyed with the ledger's secret, so that neither a cut nor another ledger's digests
/// are ever believed. Nothing is synced: what a power cut takes is hashed again.
final class HashCheckpointFile {
    private static let magic = Array("outbox-hashing-1".utf8)
    private let path: String
    private let identity: FileIdentity
    private let digester: BlockDigester
    private let interval: Duration
    private var file: SharedDescriptor?
    /// End of the last record.
    private var end: UInt64 = 0
    /// Digests that stand in the file.
    private var stored = 0
    private var last: MonotonicTime

    init(path: String, identity: FileIdentity, secret: DigestSecret, interval: Duration) {
        self.path = path
        self.identity = identity
        self.interval = interval
        digester = BlockDigester(secret: secret)
        last = Self.now()
    }

    /// The hash as far as the last record tells; nil where there is none of this state of the file.
    func load() -> HashProgress? {
        guard let text = Self.bytes(of: path) else { return nil }
        var rest = text[...]
        guard let header = take(header.count + 8, from: &rest), header.elementsEqual(self.header) else { return nil }
        var progress: HashProgress?
        var digests: [UInt64] = []
        while rest.count >= 8 {
            let count = Int(Self.number(rest.prefix(4)))
            let length = Int(Self.number(rest.dropFirst(4).prefix(4)))
            var next = rest
            guard count <= rest.count / 8, length <= rest.count,
                let record = take(8 + length + count * 8 + 8, from: &next)
            else { break }
            let values = record.dropFirst(8 + length)
            for index in 0..<count {
                let start = values.startIndex + index * 8
                digests.append(Self.number(values[start..<start + 8]))
            }
            progress = HashProgress(state: Array(record.dropFirst(8).prefix(length)), digests: digests)
            rest = next
        }
        guard let progress, progress.size <= identity.size else { return nil }
        end = UInt64(rest.startIndex)
        stored = progress.digests.count
        file = try? SharedDescriptor(opening: path, flags: O_WRONLY | O_NOFOLLOW)
        return file == nil ? nil : progress
    }

    /// Whether it is time for another record.
    var isDue: Bool { Self.now() - last >= interval }

    /// Appends a record. Where the disk takes none, the file is hashed again after a restart, which is all.
    func store(_ progress: HashProgress) {
        last = Self.now()
        var bytes: [UInt8] = []
        if file == nil {
            guard begin() else { return }
            bytes = sealed(header)
        }
        let new = progress.digests[min(stored, progress.digests.count)...]
        var record: [UInt8] = []
        Self.append(UInt32(new.count), to: &record)
        Self.append(UInt32(progress.state.count), to: &record)
        record += progress.state
        for digest in new { Self.append(digest, to: &record) }
        bytes += sealed(record)
        guard let file else { return }
        let written = bytes.withUnsafeBytes { pwrite(file.rawValue, $0.baseAddress, $0.count, off_t(end)) }
        guard written == bytes.count else { return }
        end += UInt64(written)
        stored = progress.digests.count
    }

    /// The hash is known, or the file is another one.
    func remove() {
        file = nil
        unlink(path)
    }

    private func begin() -> Bool {
        let directory = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex))
        mkdir(directory, 0o700)
        file = try? SharedDescriptor(opening: path, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
        end = 0
        stored = 0
        return file != nil
    }

    private var header: [UInt8] {
        var bytes = Self.magic
        for number in [identity.device, identity.inode, identity.size] { Self.append(number, to: &bytes) }
        for number in [identity.modified, identity.changed, identity.born] { Self.append(number, to: &bytes) }
        return bytes
    }

    // MARK: Bytes

    private func sealed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        Self.append(digest(of: bytes[...]), to: &bytes)
        return bytes
    }

    private func digest(of bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.withUnsafeBytes { digester.update($0) }
        return digester.finish()
    }

    /// Takes a sealed piece off the front.
    ///
    /// - Returns: the piece without its seal; nil where it is cut or not ours.
    private func take(_ count: Int, from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        let piece = rest.prefix(count - 8)
        guard digest(of: piece) == Self.number(rest.prefix(count).suffix(8)) else { return nil }
        rest = rest.dropFirst(count)
        return piece
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func bytes(of path: String) -> [UInt8]? {
        guard let file = try? SharedDescriptor(opening: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = try? FileStatus(of: file.rawValue), status.kind == .regular, status.size < 1 << 30
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.size))
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return Array(bytes.prefix(count))
    }

    private static func now() -> MonotonicTime { MonotonicTime(nanoseconds: bootTimeNanoseconds()) }
}
