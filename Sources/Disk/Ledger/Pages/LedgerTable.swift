/// The ledger's tables.
public enum LedgerTable: String, CaseIterable, Sendable {
    /// Drops, by 64-bit hashes of directory and name, and an ordinal among paths of the same hashes.
    case drops
    /// The paths of each content: by the content's key and the path's key in `drops`; no values.
    case contents
    /// Uploads, by content key.
    case uploads
    /// Pages of fragment states, by content key and big-endian page number.
    case fragments
    /// Pages of block digests, by content key and big-endian page number.
    case digests
    /// Confirmations, by content key and a 64-bit hash of the scope.
    case confirmations
    /// Settings, by name.
    case settings
    /// The ledger's own data: schema version, digest secret, and the number of drops in each state.
    case meta
    /// Sources, by id.
    case sources
    /// Uploads of other accounts with their fragment states, by content key and a 64-bit hash of the scope.
    case parked
    /// The subdirectories of each directory: by 64-bit hashes of the directory's path and of the subdirectory's. The
    /// values hold only a checksum.
    case directories
    /// The places of all uploads in the queue: by order and content key. The values hold only a checksum.
    case queue
    /// The drops that a start reads: by their keys in `drops`. The values hold only a checksum.
    case start
    /// Ids to delete on the server, by a 128-bit hash of scope and id.
    case removals
    /// What recipes made of contents, by the content's key and a 64-bit hash of the recipe.
    case products
    /// The journal of outcomes, by number. A number with a byte behind it is the key of the path that the file of this row
    /// has now.
    case journal
    /// The rows of the journal by name: the first bytes of the file's name, and the row's number; no values.
    case names
}
