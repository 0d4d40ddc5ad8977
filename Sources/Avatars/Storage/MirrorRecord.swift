import CLinux
import Digests
import FoundationEssentials
import Glibc
import LinuxSystem
import PictureJobs
import SystemPackage
import UploadCore

/// What stands in `.records/<hash>.json`: the one truth about what the mirror keeps of an address.
///
/// It names files before they come to their places, and by what tells them from all others. So after a kill a picture is
/// either the one that is meant, or none, and nothing of ours is ever without a record.
struct MirrorRecord: Codable, Equatable, Sendable {
    /// Tells one file from any other that ever bore its name.
    struct Stamp: Codable, Equatable, Sendable {
        var size: UInt64
        /// Nanoseconds since 1970. It is set to the nanosecond when a file is kept, and a later write changes it.
        var modified: Int64

        /// What stands on an open file.
        init(of descriptor: Int32) throws(Errno) {
            self.init(try FileStatus(of: descriptor))
        }

        init(_ status: FileStatus) {
            size = status.size
            modified = status.modified
        }

        /// Gives a file a new stamp.
        static func mark(_ descriptor: Int32) throws(Errno) -> Stamp {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            try FileTimes.set(now, on: descriptor)
            // File systems round; what they kept is what counts.
            return try Stamp(of: descriptor)
        }
    }

    /// A styled picture.
    struct Styled: Codable, Equatable, Sendable {
        /// What it was drawn by; a name may stand for other steps tomorrow.
        var steps: [String]
        /// What it was drawn from. With any other original, all it is good for is to be removed.
        var original: Stamp
        var stamp: Stamp
    }

    /// Changes when a field changes meaning; another one is as good as no record.
    var version = Self.currentVersion
    /// What the cache knows.
    var record: AvatarRecord
    /// The original that this is the record of.
    var original: Stamp
    /// Styled pictures by the names of their styles.
    var styled: [String: Styled]

    private static let currentVersion = 1
    /// Of a picture; more is damage, and would overflow sums.
    private static let largestSize: UInt64 = 1 << 40

    init(record: AvatarRecord, original: Stamp, styled: [String: Styled] = [:]) {
        self.record = record
        self.original = original
        self.styled = styled
    }

    /// Names of the styles that are drawn from this original, ordered.
    var styles: [String] { styled.filter { $0.value.original == original }.keys.sorted() }

    /// Reads the text of a record; nil for anything else.
    init?(_ text: [UInt8]) {
        guard let read = try? JSONDecoder().decode(MirrorRecord.self, from: Data(text)),
            read.version == Self.currentVersion,
            ([read.original] + read.styled.values.map(\.stamp)).allSatisfy({ $0.size <= Self.largestSize })
        else { return nil }
        self = read
    }

    /// Whether a text is the record of a later version.
    static func isNewer(_ text: [UInt8]) -> Bool {
        struct Versioned: Decodable { let version: Int }
        guard let read = try? JSONDecoder().decode(Versioned.self, from: Data(text)) else { return false }
        return read.version > currentVersion
    }

    /// The text that ``init(_:)`` reads.
    ///
    /// - Throws: `EncodingError`.
    func text() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
    }

    /// Where the record of an address stands in the directory of records. Unlike a place, it is never shared.
    static func name(for address: AvatarAddress) -> [UInt8] {
        Array((SHA256Hasher.hash(Array(address.key.utf8)).hexadecimal + ".json").utf8)
    }
}

/// Times of files.
enum FileTimes {
    /// Sets the time of the last change and leaves the last access (man 2 futimens).
    static func set(_ time: timespec, on descriptor: Int32) throws(Errno) {
        let omitted = timespec(tv_sec: 0, tv_nsec: outbox_utime_omit)
        try retryingOnInterrupt { [omitted, time].withUnsafeBufferPointer { futimens(descriptor, $0.baseAddress) } }
    }

    /// Sets the time of the last change.
    static func set(_ time: WallTime, on descriptor: Int32) throws(Errno) {
        let (seconds, rest) = time.milliseconds.quotientAndRemainder(dividingBy: 1000)
        // A time before 1970 is a clock that was never set.
        try set(timespec(tv_sec: max(Int(seconds), 0), tv_nsec: max(Int(rest), 0) * 1_000_000), on: descriptor)
    }
}
