import Digests
import Glibc
import LinuxSystem
import UploadCore

/// The hash progress of large files, in `<state>/hashing`. After a restart the agent continues from there.
package struct HashCheckpoints: Sendable {
    let directory: String
    /// Minimum file size for checkpoints, in bytes. Smaller files are hashed again from the start.
    var leastSize: UInt64 = 1 << 30
    /// Time between two checkpoints. Besides the hash state, a checkpoint writes eight bytes for each 512 KiB hashed
    /// since the previous one.
    var interval = Duration.seconds(30)

    package init(directory: String, leastSize: UInt64 = 1 << 30, interval: Duration = Duration.seconds(30)) {
        self.directory = directory
        self.leastSize = leastSize
        self.interval = interval
    }

    /// Maximum age of a checkpoint file, in seconds. Older files are removed.
    private static let longestAge: Int64 = 14 * 24 * 3600

    /// Returns the checkpoints of a file; `nil` if the file is too small.
    func checkpoint(of file: FileIdentity, secret: DigestSecret) -> HashCheckpointFile? {
        guard file.size >= leastSize else { return nil }
        // The name identifies the file. The header in the checkpoint file identifies the file's version.
        let name = [file.device, file.inode, UInt64(bitPattern: file.born)].map { String($0, radix: 16) }
        return HashCheckpointFile(
            path: "\(directory)/\(name.joined(separator: "-"))", identity: file, secret: secret, interval: interval)
    }

    /// Removes old checkpoints of files that vanished before they were hashed.
    package func removeOld() {
        guard let opened = try? Directory(path: directory), let entries = try? opened.entries() else { return }
        for entry in entries {
            guard let status = try? opened.status(entry.name), status.kind == .regular,
                wallTimeMilliseconds() / 1000 - status.modified / 1_000_000_000 > Self.longestAge
            else { continue }
            try? opened.unlink(entry.name)
        }
    }
}

/// The checkpoints of one file: a header that identifies the exact version of the file, then appended records.
///
/// Every record carries a digest that is keyed with the ledger's secret, so truncated records and records of another
/// ledger are rejected. Nothing is synced: after a power cut, the lost part is hashed again.
final class HashCheckpointFile {
    private static let magic = Array("outbox-hashing-1".utf8)
    private let path: String
    private let identity: FileIdentity
    private let digester: BlockDigester
    private let interval: Duration
    private var file: SharedDescriptor?
    /// Offset of the end of the last record.
    private var end: UInt64 = 0
    /// Number of digests in the file.
    private var stored = 0
    private var last: MonotonicTime

    init(path: String, identity: FileIdentity, secret: DigestSecret, interval: Duration) {
        self.path = path
        self.identity = identity
        self.interval = interval
        digester = BlockDigester(secret: secret)
        last = Self.now()
    }

    /// Returns the progress in the last valid record; `nil` if there is none for this version of the file.
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

    /// Whether the next record is due.
    var isDue: Bool { Self.now() - last >= interval }

    /// Appends a record. If the write fails, the file is merely hashed again after a restart.
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

    /// Removes the checkpoints, because the hash is complete or the file changed.
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

    /// Takes a sealed record off the front.
    ///
    /// - Returns: the record without its seal; `nil` for a truncated record or a wrong seal.
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
