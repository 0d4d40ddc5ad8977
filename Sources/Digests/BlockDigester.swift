import CXXHash

/// The secret that block digests are keyed with: made at first start, kept in the ledger, never leaves the machine.
public final class DigestSecret: Sendable {
    /// Length in bytes; XXH3 takes 136 or more.
    public static let length = 192

    // XXH3 keeps a pointer to the secret for as long as a state is in use, so it must not move.
    private let memory: SendableBuffer

    /// Takes a secret over.
    ///
    /// - Returns: nil unless there are exactly `length` bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        memory = SendableBuffer(bytes)
    }

    var pointer: UnsafeRawPointer { memory.pointer }
}

/// Bytes at a fixed address.
private final class SendableBuffer: @unchecked Sendable {
    // Unchecked: written once here and only read afterwards.
    private let buffer: UnsafeMutableRawBufferPointer

    init(_ bytes: [UInt8]) {
        buffer = .allocate(byteCount: max(1, bytes.count), alignment: 64)
        buffer.copyBytes(from: bytes)
    }

    deinit { buffer.deallocate() }

    var pointer: UnsafeRawPointer {
        // The buffer is never empty, so there is an address.
        buffer.baseAddress.map { UnsafeRawPointer($0) } ?? UnsafeRawPointer(bitPattern: 64).unsafelyUnwrapped
    }
}

/// Computes the keyed 64-bit digest of one block of content after the other (XXH3 with a secret).
///
/// Hashing records one for each block of 512 KiB; sending computes it again and compares, so that bytes which changed
/// in between, even with all times put back, are never sent as part of the old content.
public final class BlockDigester {
    /// Bytes in a block, the fragment size of the fileSection protocol; other protocols' fragments are multiples of it.
    public static let blockSize = 512 * 1024

    private let secret: DigestSecret
    private let state: OpaquePointer?

    /// Starts with an empty block.
    public init(secret: DigestSecret) {
        self.secret = secret
        // Null only when memory is out, which Swift itself does not survive either.
        state = XXH3_createState()
        reset()
    }

    deinit { XXH3_freeState(state) }

    /// Forgets what was added.
    public func reset() {
        XXH3_64bits_reset_withSecret(state, secret.pointer, DigestSecret.length)
    }

    /// Adds the next bytes of the block.
    public func update(_ bytes: UnsafeRawBufferPointer) {
        XXH3_64bits_update(state, bytes.baseAddress, bytes.count)
    }

    /// The digest of the block; the next one is begun.
    public func finish() -> UInt64 {
        defer { reset() }
        return XXH3_64bits_digest(state)
    }
}
