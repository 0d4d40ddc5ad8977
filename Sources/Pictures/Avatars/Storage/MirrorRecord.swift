import CLinux
import Digests
import FoundationEssentials
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// The content of `.records/<hash>.json`: the authoritative state of an address in the mirror.
///
/// A record is written before its files come to their places, and identifies them by stamps. After a kill, a picture
/// is therefore either the recorded one or ignored, and no file of the mirror is ever without a record.
struct MirrorRecord: Codable, Equatable, Sendable {
    /// Distinguishes a file from every other file that ever had its name.
    struct Stamp: Codable, Equatable, Sendable {
        var size: UInt64
        /// Nanoseconds since 1970. Set to the nanosecond when a file is kept; every later write changes it.
        var modified: Int64

        /// Reads the stamp of an open file.
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
            // File systems may round the time, so read the result back.
            return try Stamp(of: descriptor)
        }
    }

    /// A styled picture.
    struct Styled: Codable, Equatable, Sendable {
        /// The steps of the drawing. A style's name may stand for other steps later.
        var steps: [String]
        /// The original the picture was drawn from. If the original differs, this picture can only be removed.
        var original: Stamp
        var stamp: Stamp
    }

    /// Changes when a field changes its meaning. A record with another version is ignored.
    var version = Self.currentVersion
    /// The cache's metadata.
    var record: AvatarRecord
    /// Stamp of the original.
    var original: Stamp
    /// Styled pictures by the names of their styles.
    var styled: [String: Styled]

    private static let currentVersion = 1
    /// Maximum size of a picture. A larger value is damage, and could overflow sums.
    private static let largestSize: UInt64 = 1 << 40

    init(record: AvatarRecord, original: Stamp, styled: [String: Styled] = [:]) {
        self.record = record
        self.original = original
        self.styled = styled
    }

    /// Names of the styles drawn from this original, ordered.
    var styles: [String] { styled.filter { $0.value.original == original }.keys.sorted() }

    /// Parses a record; nil if invalid.
    init?(_ text: [UInt8]) {
        guard let read = try? JSONDecoder().decode(MirrorRecord.self, from: Data(text)),
            read.version == Self.currentVersion,
            ([read.original] + read.styled.values.map(\.stamp)).allSatisfy({ $0.size <= Self.largestSize })
        else { return nil }
        self = read
    }

    /// Whether a text is a record of a newer version.
    static func isNewer(_ text: [UInt8]) -> Bool {
        struct Versioned: Decodable { let version: Int }
        guard let read = try? JSONDecoder().decode(Versioned.self, from: Data(text)) else { return false }
        return read.version > currentVersion
    }

    /// The text that ``init(_:)`` parses.
    ///
    /// - Throws: `EncodingError`.
    func text() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
    }

    /// File name of an address's record. Unlike a place, no two addresses share it.
    static func name(for address: AvatarAddress) -> [UInt8] {
        Array((SHA256Hasher.hash(Array(address.key.utf8)).hexadecimal + ".json").utf8)
    }
}

/// Times of files.
enum FileTimes {
    /// Sets the modification time and keeps the access time (man 2 futimens).
    static func set(_ time: timespec, on descriptor: Int32) throws(Errno) {
        let omitted = timespec(tv_sec: 0, tv_nsec: outbox_utime_omit)
        try retryingOnInterrupt { [omitted, time].withUnsafeBufferPointer { futimens(descriptor, $0.baseAddress) } }
    }

    /// Sets the modification time.
    static func set(_ time: WallTime, on descriptor: Int32) throws(Errno) {
        let (seconds, rest) = time.milliseconds.quotientAndRemainder(dividingBy: 1000)
        // A time before 1970 comes from a clock that was never set.
        try set(timespec(tv_sec: max(Int(seconds), 0), tv_nsec: max(Int(rest), 0) * 1_000_000), on: descriptor)
    }
}
