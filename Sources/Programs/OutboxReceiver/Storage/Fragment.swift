import Glibc
import SystemPackage

/// A block that a request writes into the data file of its upload.
///
/// The block is collected in memory and written in large aligned pieces: the fixed cost of a write outweighs one more
/// copy. The digests then take the block from memory. If memory is short, only a piece stays in memory, and the digests
/// read the block back.
struct Fragment {
    /// How many blocks of a large file stay in the page cache (64 MiB): the disk may still write them.
    private static let blocksInCache = 8 * Upload.turn

    let upload: Upload
    private let ticket: Upload.Ticket
    private let file: OpenFile
    private let buffer: BlockBuffer
    /// The number of bytes written to the file.
    private var written = 0
    /// How many bytes in the buffer are written.
    private var writtenInBuffer = 0

    /// Begins to receive a block. If that fails, gives up the ticket.
    init(_ ticket: Upload.Ticket, of upload: Upload, in store: Store) throws {
        do {
            try store.checkSpace(for: Int64(upload.plan.length(of: ticket.block)))
            file = try upload.open(ticket) { () throws(Errno) in
                try store.uploads.open(upload.dataName, O_RDWR | O_CREAT, mode: 0o600)
            }
        } catch {
            upload.abandon(ticket)
            throw error
        }
        self.upload = upload
        self.ticket = ticket
        buffer = store.blocks.take()
    }

    /// The length of the block in bytes.
    var length: Int { upload.plan.length(of: ticket.block) }

    /// Adds the next bytes. The caller must not add more than ``length`` bytes in total.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let space = BlockBuffers.pieceSize - (buffer.bytes.count - writtenInBuffer)
            let count = buffer.append(UnsafeRawBufferPointer(rebasing: rest.prefix(space)))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            if count == space { try write() }
            if buffer.bytes.count == buffer.capacity, !rest.isEmpty {
                buffer.removeAll()
                writtenInBuffer = 0
            }
        }
    }

    /// Writes the bytes in the buffer that are not written yet.
    private mutating func write() throws {
        let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes.dropFirst(writtenInBuffer))
        guard !bytes.isEmpty else { return }
        try upload.write(bytes, at: upload.plan.offset(of: ticket.block) + Int64(written), to: file, ticket)
        written += bytes.count
        writtenInBuffer += bytes.count
    }

    /// Marks the block as arrived. Throws if the block is too short.
    mutating func complete(in store: Store) throws {
        guard written + buffer.bytes.count - writtenInBuffer == length else {
            throw Refusal.badRequest("The fragment is too short.")
        }
        try write()
        let isWhole = buffer.bytes.count == length
        // Before the upload may be assembled: a failure must prevent that.
        if upload.isLarge { writeBehind() }
        try upload.complete(ticket, bytes: isWhole ? buffer : nil) { isLast in
            try store.withBooks { books in
                if !isLast { try books.journal.append([.block(upload.id, ticket.block)]) }
                books.catalog.received(Int64(length), of: upload)
            }
        }
    }

    /// After every 16th block, starts writing the 16 before those to the disk, and drops blocks from the page cache that
    /// are on the disk by now. The final wait is shorter then, and the next blocks take the same pages, which is faster
    /// than pages unused for long.
    private func writeBehind() {
        let count = Upload.turn
        guard (ticket.block + 1).isMultiple(of: count) else { return }
        let size = Int64(count) * UploadPlan.blockSize
        // Some of the last 16 blocks may still be arriving.
        let complete = ticket.block + 1 - 2 * count
        if complete >= 0 {
            do throws(Errno) {
                try file.startWriting(at: upload.plan.offset(of: complete), count: size)
            } catch {
                // The kernel may have dropped the bytes, and may not report the failure again.
                _ = upload.distrust(isLost: true)
            }
        }
        // What the digests still read must stay.
        let old = ticket.block + 1 - count - Self.blocksInCache
        if old >= 0, upload.digestedCount >= old + count {
            file.dropFromCache(at: upload.plan.offset(of: old), count: size)
        }
    }

    func abandon() {
        upload.abandon(ticket)
    }
}
