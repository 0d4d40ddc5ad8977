import CXXHash
import UploadCore

/// The secret key of block digests. Created at first start and stored in the ledger; never leaves the machine.
public final class DigestSecret: Sendable {
    /// The length in bytes. XXH3 requires at least 136.
    static let length = 192

    // XXH3 keeps a pointer to the secret while a state is in use, so the secret must not move.
    private let memory: SendableBuffer

    /// Creates a secret from its bytes.
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
    // Unchecked: written once in `init` and only read afterwards.
    private let buffer: UnsafeMutableRawBufferPointer

    init(_ bytes: [UInt8]) {
        buffer = .allocate(byteCount: max(1, bytes.count), alignment: 64)
        buffer.copyBytes(from: bytes)
    }

    deinit { buffer.deallocate() }

    var pointer: UnsafeRawPointer {
        // The buffer is never empty, so its address exists.
        buffer.baseAddress.map { UnsafeRawPointer($0) } ?? UnsafeRawPointer(bitPattern: 64).unsafelyUnwrapped
    }
}

/// Computes the keyed 64-bit digest of consecutive blocks of a content (XXH3 with a secret).
///
/// Hashing records one digest per block of 512 KiB. Sending computes the digest again and compares. Bytes that changed
/// in between, even with all times restored, are thus never sent as part of the old content.
public final class BlockDigester {
    /// The number of bytes in a block. Says nothing about the size of a fragment, which is a multiple.
    public static let blockSize = Int(ContentSeal.blockSize)

    private let secret: DigestSecret
    private let state: OpaquePointer?

    /// Creates a digester with an empty block.
    public init(secret: DigestSecret) {
        self.secret = secret
        // Null only if memory runs out, which Swift itself does not survive either.
        state = XXH3_createState()
        reset()
    }

    deinit { XXH3_freeState(state) }

    /// Discards the bytes added so far.
    public func reset() {
        XXH3_64bits_reset_withSecret(state, secret.pointer, DigestSecret.length)
    }

    /// Adds the next bytes of the block.
    public func update(_ bytes: UnsafeRawBufferPointer) {
        outbox_xxh3_update(state, bytes.baseAddress, bytes.count)
    }

    /// Returns the digest of the block and begins the next block.
    public func finish() -> UInt64 {
        defer { reset() }
        return XXH3_64bits_digest(state)
    }

    /// Returns the digest in the seal of a content that consists of these blocks (`ContentSeal`). Call it between blocks.
    public func seal(of digests: [UInt64]) -> UInt64 {
        digests.withUnsafeBytes { update($0) }
        return finish()
    }
}
