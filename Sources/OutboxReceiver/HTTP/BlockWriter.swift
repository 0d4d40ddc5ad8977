/// A block that a request brings.
struct IncomingBlock {
    let block: FileBlock
    let destination: Store.Destination
    /// In bytes.
    let length: Int
}

/// Writes the blocks of one request, one after the other. A block is complete when the next one begins, which proves its
/// length.
struct BlockWriter {
    private let store: Store
    private let blocks: [IncomingBlock]
    private let log: (_ block: FileBlock, _ isNew: Bool) -> Void
    /// The block that is being received.
    private var current: Int?
    /// Nil if the block arrived earlier: its bytes are ignored.
    private var fragment: Fragment?

    /// - Parameter log: Logs a complete block.
    init(store: Store, blocks: [IncomingBlock], log: @escaping (_ block: FileBlock, _ isNew: Bool) -> Void) {
        self.store = store
        self.blocks = blocks
        self.log = log
    }

    /// Adds the next bytes of a block. Blocks come in order.
    mutating func append(_ bytes: UnsafeRawBufferPointer, toBlock index: Int) throws {
        if index != current {
            try finish()
            if case .upload(let upload) = blocks[index].destination {
                fragment = try Fragment.begin(Int(blocks[index].block.blockNo) - 1, of: upload, in: store)
            }
            current = index
        }
        try fragment?.append(bytes)
    }

    /// Completes the block that is being received.
    mutating func finish() throws {
        guard let index = current else { return }
        try fragment?.complete(in: store)
        log(blocks[index].block, fragment != nil)
        if let upload = fragment?.upload {
            store.counters.count { [length = blocks[index].length] values in
                values.fragments += 1
                values.fragmentBytes += Int64(length)
            }
            store.advance(upload)
        }
        fragment = nil
        current = nil
    }

    /// Gives up the block that is being received.
    func abandon() { fragment?.abandon() }
}
