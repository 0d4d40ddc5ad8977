@testable import OutboxReceiver

extension Fragment {
    /// Takes a ticket and begins to receive the block. Returns nil if the block arrived earlier.
    static func begin(_ block: Int, of upload: Upload, in store: Store) throws -> Fragment? {
        guard let ticket = try upload.begin(block, at: store.now()) else { return nil }
        return try Fragment(ticket, of: upload, in: store)
    }
}
