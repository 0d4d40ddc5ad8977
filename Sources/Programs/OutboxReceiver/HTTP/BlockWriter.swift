/// A block that a request brings.
struct IncomingBlock {
    let block: FileBlock
    let destination: Store.Destination
    /// In bytes.
    let length: Int
}

/// Writes the blocks of one request, one after the other. A block is complete when the next one begins, which proves its
/// length.
///
/// The request takes the tickets of all its blocks at its start. A later request for a block takes the ticket away; an
/// older request can't take it back. Later blocks of other requests stay in memory for the digests, because ``Upload``
/// counts these blocks as being received.
struct BlockWriter {
    private let store: Store
    private let blocks: [IncomingBlock]
    private let log: (_ block: FileBlock, _ isNew: Bool) -> Void
    /// The tickets of the blocks that have not begun, by the indices of the blocks. A block without one arrived earlier,
    /// or comes twice.
    private var tickets: [Int: (upload: Upload, ticket: Upload.Ticket)] = [:]
    /// The block that is being received.
    private var current: Int?
    /// Nil if the block arrived already: its bytes are ignored.
    private var fragment: Fragment?

    /// - Parameter log: Logs a complete block.
    init(store: Store, blocks: [IncomingBlock], log: @escaping (_ block: FileBlock, _ isNew: Bool) -> Void) throws {
        self.store = store
        self.blocks = blocks
        self.log = log
        do {
            for index in blocks.indices { try reserve(index) }
        } catch {
            abandon()
            throw error
        }
    }

    private mutating func reserve(_ index: Int) throws(Refusal) {
        guard case .upload(let upload) = blocks[index].destination else { return }
        let block = Int(blocks[index].block.blockNo) - 1
        if tickets.values.contains(where: { $0.upload === upload && $0.ticket.block == block }) { return }
        if let ticket = try upload.begin(block, at: store.now()) { tickets[index] = (upload, ticket) }
    }

    /// Adds the next bytes of a block. Blocks come in order.
    mutating func append(_ bytes: UnsafeRawBufferPointer, toBlock index: Int) throws {
        if index != current {
            try finish()
            if let (upload, ticket) = tickets.removeValue(forKey: index), !upload.hasArrived(ticket.block) {
                fragment = try Fragment(ticket, of: upload, in: store)
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

    /// Gives up the blocks that have not arrived.
    func abandon() {
        fragment?.abandon()
        for (upload, ticket) in tickets.values { upload.abandon(ticket) }
    }
}
