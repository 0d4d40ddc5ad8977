import Glibc
import SystemPackage

/// A block that a request writes into the data file of its upload.
struct Fragment {
    let upload: Upload
    private let ticket: Upload.Ticket
    private let file: OpenFile
    private var digest: RunningDigest?
    private var written = 0

    /// - Returns: Nil if the block arrived earlier: the caller can ignore the request's body.
    static func begin(_ index: Int, of upload: Upload, in store: Store) throws -> Fragment? {
        guard let ticket = try upload.begin(index, at: store.now()) else { return nil }
        do {
            try store.checkSpace(for: Int64(upload.plan.length(of: index)))
            let file = try store.uploads.open(upload.dataName, O_RDWR | O_CREAT, mode: 0o600)
            return Fragment(upload: upload, ticket: ticket, file: file, digest: ticket.digest)
        } catch {
            upload.abandon(ticket)
            throw error
        }
    }

    private init(upload: Upload, ticket: Upload.Ticket, file: OpenFile, digest: RunningDigest?) {
        self.upload = upload
        self.ticket = ticket
        self.file = file
        self.digest = digest
    }

    /// The length of the block in bytes.
    var length: Int { upload.plan.length(of: ticket.block) }

    /// Writes the next bytes. The caller must not write more than ``length`` bytes in total.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws {
        let offset = upload.plan.offset(of: ticket.block) + Int64(written)
        try upload.write(bytes, at: offset, to: file, ticket)
        digest?.update(bytes)
        written += bytes.count
    }

    /// Marks the block as arrived. Throws if the block is too short.
    func complete(in store: Store) throws {
        guard written == length else { throw Refusal.badRequest("The fragment is too short.") }
        // Before the upload may be assembled: a failure must prevent that.
        if upload.isLarge { startWriting() }
        try upload.complete(ticket, digest: digest) { isLast in
            try store.withBooks { books in
                if !isLast { try books.journal.append([.block(upload.id, ticket.block)]) }
                books.catalog.received(Int64(length), of: upload)
            }
        }
    }

    /// Starts writing the block to the disk, which shortens the final wait.
    private func startWriting() {
        do throws(Errno) {
            try file.startWriting(at: upload.plan.offset(of: ticket.block), count: Int64(length))
        } catch {
            // The kernel may have dropped the bytes, and may not report the failure again.
            _ = upload.distrust(isLost: true)
        }
    }

    func abandon() {
        upload.abandon(ticket)
    }
}
