import FoundationEssentials

/// The wire between the agent and the picture worker, in one place for both ends.
///
/// - The worker's standard input is its end of a `SOCK_SEQPACKET` socket pair; a packet is one JSON value, no longer than
///   ``longestPacket``. Only packets to the worker carry descriptors.
/// - The worker speaks first: its first packet is a ``PictureHello``, sent once it has loaded its decoders and locked
///   itself in. Each later packet is a ``PictureAnswer``.
/// - Each packet to the worker is a ``PictureJob``, with ids from 1, and its descriptors: the picture, and the output
///   except with `measure`. Jobs may be sent ahead; they are done one at a time, in order.
/// - A packet that is not a job is answered with id 0 and `failed`; a job with the wrong number of descriptors with its
///   own id and `failed`.
/// - A worker never ends on its own while the socket is open: it exits 0 once the other end is closed, and whatever else
///   ends it happened over the job it was doing, a job that takes more than ``processorSeconds`` included (SIGPROF).
///   It keeps no wall clock; that is for the agent to do.
/// - Exit codes at start: 64 where standard input is no such socket, 69 where it was built without libvips or libvips
///   does not start; one line on standard error says what to do.
public enum PictureWire {
    /// Counted up when a packet changes its meaning.
    public static let version = 1
    /// The longest packet either side sends, in bytes.
    public static let longestPacket = 16 * 1024
    /// The most steps one job draws.
    public static let mostSteps = 16
    /// The processor time one job may take, over all its threads; the kernel ends the worker over more.
    public static let processorSeconds = 60

    /// The bytes of a packet.
    ///
    /// - Throws: ``PictureWireError`` where the packet would be too long.
    public static func packet(of value: some Encodable) throws(PictureWireError) -> [UInt8] {
        guard let data = try? JSONEncoder().encode(value) else { throw .unreadable }
        if data.count > longestPacket { throw .tooLong }
        return Array(data)
    }

    /// What a packet says.
    ///
    /// - Throws: ``PictureWireError`` where it is something else.
    public static func value<Value: Decodable>(_ type: Value.Type, in packet: [UInt8]) throws(PictureWireError) -> Value
    {
        if packet.count > longestPacket { throw .tooLong }
        guard let value = try? JSONDecoder().decode(type, from: Data(packet)) else { throw .unreadable }
        return value
    }
}

/// Why a packet is none.
public enum PictureWireError: Error, Equatable, Sendable {
    /// It is longer than ``PictureWire/longestPacket``.
    case tooLong
    /// It is not JSON of the type expected.
    case unreadable
}

/// The first packet of a picture worker: what it is and what it can do.
public struct PictureHello: Codable, Equatable, Sendable {
    /// What keeps a decoder that was taken over from doing harm. Resource limits always hold.
    public enum Layer: String, Codable, Sendable, CaseIterable {
        /// Nothing it executes gains rights (man 2 prctl, PR_SET_NO_NEW_PRIVS).
        case noNewPrivileges = "no_new_privs"
        /// System calls that open, connect, execute, signal or trace are refused (man 2 seccomp).
        case seccomp
        /// No file can be opened, whatever the way (man 7 landlock).
        case landlock
    }

    /// ``PictureWire/version`` of the worker.
    public var version: Int
    /// The library that decodes, with its version: "libvips 8.14.1".
    public var library: String
    /// The formats it reads, of: `jpeg`, `png`, `gif`, `webp`, `heif`, `avif`, `tiff`.
    public var formats: [String]
    /// The layers of its sandbox that hold; one is missing where the kernel doesn't have it.
    public var sandbox: [Layer]

    /// A hello.
    public init(version: Int = PictureWire.version, library: String, formats: [String], sandbox: [Layer]) {
        self.version = version
        self.library = library
        self.formats = formats
        self.sandbox = sandbox
    }
}
