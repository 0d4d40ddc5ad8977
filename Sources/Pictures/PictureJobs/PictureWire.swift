/// The wire protocol between the agent and the picture worker, defined once for both ends.
///
/// - The worker's standard input is its end of a `SOCK_SEQPACKET` socket pair. A packet is UTF-8 text of at most
///   ``longestPacket`` bytes, with a line for each field (``PicturePacket/fields``). Only packets to the worker carry
///   descriptors.
/// - The worker speaks first: it loads its decoders, enters its sandbox and sends a ``PictureHello``. Each later packet
///   is a ``PictureAnswer``.
/// - Each packet to the worker is a ``PictureJob`` with its descriptors: the picture and, except for `measure`, the
///   output. Ids start at 1. The agent may send jobs ahead; the worker does them one at a time, in order.
/// - The worker answers a packet that is not a job with id 0 and `failed`, and a job with the wrong number of
///   descriptors with the job's id and `failed`.
/// - The worker never ends by itself while the socket is open. It exits with 0 once the other end closes. Any other end
///   is due to its present job, including a job that takes more than ``processorSeconds`` (SIGPROF). The worker has no
///   wall-clock timeout; the agent must set one.
/// - Exit codes at start: 64 if standard input is not such a socket, 69 if the worker was built without libvips or
///   libvips fails to start. One line on standard error says what to do.
public enum PictureWire {
    /// Incremented when a packet changes its meaning.
    public static let version = 3
    /// The maximum length of a packet in either direction, in bytes.
    public static let longestPacket = 16 * 1024
    /// The maximum number of steps in one job.
    public static let mostSteps = 16
    /// The processor time that one job may use, in seconds over all threads. The kernel kills a worker that exceeds it.
    public static let processorSeconds = 60

    /// Encodes a packet.
    ///
    /// - Throws: ``PictureWireError`` if the packet would be too long.
    public static func packet(of value: some PicturePacket) throws(PictureWireError) -> [UInt8] {
        let bytes = Array(value.fields.joined(separator: "\n").utf8)
        if bytes.count > longestPacket { throw .tooLong }
        return bytes
    }

    /// Decodes a packet.
    ///
    /// - Throws: ``PictureWireError`` if the packet is too long or contains something else.
    public static func value<Value: PicturePacket>(
        _ type: Value.Type, in packet: [UInt8]
    ) throws(PictureWireError) -> Value {
        if packet.count > longestPacket { throw .tooLong }
        let lines = packet.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let fields = lines.compactMap { String(validating: $0, as: UTF8.self) }
        guard fields.count == lines.count, let value = Value(fields: fields) else { throw .unreadable }
        return value
    }
}

/// A packet of ``PictureWire``.
public protocol PicturePacket: Sendable {
    /// The packet's fields, in order. Only the last one may hold line breaks.
    var fields: [String] { get }

    /// Creates the packet from its lines; nil if they are not those of this kind of packet.
    init?(fields: [String])
}

/// Why a packet is invalid.
public enum PictureWireError: Error, Equatable, Sendable {
    /// The packet is longer than ``PictureWire/longestPacket``.
    case tooLong
    /// The packet's fields are not those of the expected type.
    case unreadable
}

/// The first packet of a picture worker: its version and abilities.
public struct PictureHello: Equatable, PicturePacket {
    /// A defence against a compromised decoder. Resource limits always apply.
    public enum Layer: String, Sendable, CaseIterable {
        /// No program that the worker executes gains rights (man 2 prctl, PR_SET_NO_NEW_PRIVS).
        case noNewPrivileges = "no_new_privs"
        /// The kernel refuses system calls that open, connect, execute, signal or trace (man 2 seccomp).
        case seccomp
        /// The worker can't open any file in any way (man 7 landlock).
        case landlock
    }

    /// The worker's ``PictureWire/version``.
    public var version: Int
    /// The decoding library and its version: "libvips 8.14.1".
    public var library: String
    /// The supported formats, of: `jpeg`, `png`, `gif`, `webp`, `heif`, `avif`, `tiff`.
    public var formats: [String]
    /// The active layers of the sandbox. A layer is missing if the kernel does not support it.
    public var sandbox: [Layer]

    /// Creates a hello.
    public init(version: Int = PictureWire.version, library: String, formats: [String], sandbox: [Layer]) {
        self.version = version
        self.library = library
        self.formats = formats
        self.sandbox = sandbox
    }

    /// Version, library, formats and sandbox layers, the last two separated by spaces.
    public var fields: [String] {
        ["\(version)", library, formats.joined(separator: " "), sandbox.map(\.rawValue).joined(separator: " ")]
    }

    /// Creates the packet from its lines; see ``PicturePacket``.
    public init?(fields: [String]) {
        guard fields.count == 4, let version = Int(fields[0]) else { return nil }
        let names = fields[3].split(separator: " ")
        let sandbox = names.compactMap { Layer(rawValue: String($0)) }
        guard sandbox.count == names.count else { return nil }
        self.init(
            version: version, library: fields[1], formats: fields[2].split(separator: " ").map(String.init),
            sandbox: sandbox)
    }
}
