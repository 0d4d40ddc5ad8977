import Synchronization

/// Memory for blocks that requests receive and that threads digest, bounded for the whole server.
///
/// Reuses memory, because the kernel must clear each new page.
final class BlockBuffers: Sendable {
    /// The size of a write.
    static let pieceSize = 128 << 10
    /// How many unused blocks stay allocated: as many as a large upload uses.
    private static let mostSpare = 12

    private struct State {
        var spare: [BlockMemory] = []
        /// The number of buffers in use that hold a whole block.
        var used = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: How many buffers may hold a whole block at a time.
    init(limit: Int) {
        self.limit = limit
    }

    /// Returns a buffer for a whole block, or a smaller one if too many blocks are in memory.
    func take() -> BlockBuffer {
        let (isWithinLimit, spare) = state.withLock { state in
            guard state.used < limit else { return (false, BlockMemory?.none) }
            state.used += 1
            return (true, state.spare.popLast())
        }
        guard isWithinLimit else { return BlockBuffer(BlockMemory(size: Self.pieceSize), of: nil) }
        return BlockBuffer(spare ?? BlockMemory(size: Int(UploadPlan.blockSize)), of: self)
    }

    fileprivate func giveBack(_ memory: BlockMemory) {
        state.withLock { state in
            state.used -= 1
            if state.spare.count < Self.mostSpare { state.spare.append(memory) }
        }
    }
}

/// A buffer from ``BlockBuffers``, given back on deinit.
///
/// `@unchecked Sendable`: the request that receives the block fills the buffer alone. Afterwards nobody changes it.
final class BlockBuffer: @unchecked Sendable {
    private let memory: BlockMemory
    private let pool: BlockBuffers?
    private var count = 0

    fileprivate init(_ memory: BlockMemory, of pool: BlockBuffers?) {
        self.memory = memory
        self.pool = pool
    }

    deinit {
        pool?.giveBack(memory)
    }

    var capacity: Int { memory.bytes.count }

    /// The bytes in the buffer.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]) }

    /// Appends as many of `bytes` as fit.
    /// - Returns: The number of appended bytes.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let fitting = min(bytes.count, capacity - count)
        UnsafeMutableRawBufferPointer(rebasing: memory.bytes[count..<count + fitting])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<fitting]))
        count += fitting
        return fitting
    }

    func removeAll() {
        count = 0
    }
}

/// `@unchecked Sendable`: only the one ``BlockBuffer`` that owns the memory uses it.
private final class BlockMemory: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    init(size: Int) {
        bytes = .allocate(byteCount: size, alignment: 4096)
    }

    deinit {
        bytes.deallocate()
    }
}
