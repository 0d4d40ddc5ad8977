import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

extension MirrorDirectory {
    /// Maximum size of a record: far more than two URLs and a server's validators need.
    private static let longestRecord: UInt64 = 1 << 20

    /// The record of an address; nil if missing or unreadable.
    func record(of address: AvatarAddress) throws(Errno) -> MirrorRecord? {
        try record(named: MirrorRecord.name(for: address))?.record
    }

    /// A record by its file name, and the time of the last use.
    func record(named name: [UInt8]) throws(Errno) -> (record: MirrorRecord, usedAt: WallTime)? {
        do {
            let file = SharedDescriptor(try root.open(Self.recordPath(name), flags: O_RDONLY | O_NOFOLLOW))
            let status = try FileStatus(of: file.rawValue)
            guard status.kind == .regular, status.size <= Self.longestRecord else { return nil }
            var text = [UInt8](repeating: 0, count: Int(status.size))
            let count = try Self.read(file, into: &text)
            return MirrorRecord(Array(text.prefix(count)))
                .map { ($0, WallTime(milliseconds: status.modified / 1_000_000)) }
        } catch {
            if error == .noSuchFileOrDirectory { return nil }
            throw error
        }
    }

    /// Whether an unreadable record was written by a newer program.
    func isFromNewerProgram(recordNamed name: [UInt8]) -> Bool {
        guard let file = try? SharedDescriptor(root.open(Self.recordPath(name), flags: O_RDONLY | O_NOFOLLOW)),
            let status = try? FileStatus(of: file.rawValue), status.kind == .regular,
            status.size <= Self.longestRecord
        else { return false }
        var text = [UInt8](repeating: 0, count: Int(status.size))
        guard let count = try? Self.read(file, into: &text) else { return false }
        return MirrorRecord.isNewer(Array(text.prefix(count)))
    }

    /// Names of all records.
    func recordNames() throws(Errno) -> [[UInt8]] {
        try root.directory(Self.records).entries().map(\.name)
    }

    /// Writes the record of an address. The lock must be held.
    ///
    /// - Parameter usedAt: Time of the last use.
    func write(_ record: MirrorRecord, of address: AvatarAddress, usedAt: WallTime, isNew: Bool) throws(Errno) {
        guard let text = try? record.text() else { throw .invalidArgument }
        let (temporary, file) = try makeFile()
        do {
            try writeAll(text, to: file.rawValue)
            // man 2 fdatasync: without it, a power cut could leave an empty record, and pictures without a record. If
            // a file is replaced, file systems flush by themselves (man 5 ext4, auto_da_alloc).
            if isNew { try retryingOnInterrupt { fdatasync(file.rawValue) } }
            try FileTimes.set(usedAt, on: file.rawValue)
            try workshop.move(temporary, to: MirrorRecord.name(for: address), in: try root.directory(Self.records))
        } catch {
            try? workshop.unlink(temporary)
            throw error
        }
    }

    /// Flushes a record and its directory to the disk.
    func flushRecord(of address: AvatarAddress) throws(Errno) {
        let file = try root.open(Self.recordPath(MirrorRecord.name(for: address)), flags: O_RDONLY | O_NOFOLLOW)
        try retryingOnInterrupt { fsync(file.rawValue) }
        try Self.flush(root.directory(Self.records))
    }

    /// Removes a record. The lock must be held.
    func removeRecord(named name: [UInt8]) throws(Errno) {
        do {
            try root.unlink(Self.recordPath(name))
        } catch {
            if error != .noSuchFileOrDirectory { throw error }
        }
    }

    /// Records a use of an address, as the modification time of its record. Throws if there is no record.
    func setUse(of address: AvatarAddress, _ time: WallTime) throws(Errno) {
        let file = try root.open(
            Self.recordPath(MirrorRecord.name(for: address)), flags: O_RDONLY | O_NOFOLLOW)
        try FileTimes.set(time, on: file.rawValue)
    }

    private static func recordPath(_ name: [UInt8]) -> [UInt8] { records + [UInt8(ascii: "/")] + name }

    private static func read(_ file: SharedDescriptor, into text: inout [UInt8]) throws(Errno) -> Int {
        var failure: Errno?
        let count = text.withUnsafeMutableBytes { buffer in
            do throws(Errno) {
                return try file.read(into: buffer, at: 0)
            } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
        return count
    }
}
