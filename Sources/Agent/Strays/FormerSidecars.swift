import UploadCore

/// Where the sidecars of the last run are, if `sidecars.directory` changed since.
enum FormerSidecars: Equatable, Sendable {
    /// The place is the same.
    case unchanged
    /// The ledger does not name the place, and sidecars are beside their files as before.
    case unrecorded
    /// Beside the files, while the present ones are in a tree of their own.
    case besideFiles
    /// In the tree with this root.
    case tree(String)

    /// Compares the place of the last run with the present one.
    ///
    /// - Parameters:
    ///   - stored: the ledger's setting: the root of the tree, empty for sidecars beside their files. `nil` in ledgers
    ///     of earlier versions; those sidecars are beside their files.
    ///   - present: the root of the present tree; `nil` for sidecars beside their files.
    init(stored: [UInt8]?, present: String?) {
        let former = stored.map { String(decoding: $0, as: UTF8.self) } ?? ""
        if former != present ?? "" {
            self = former.isEmpty ? .besideFiles : .tree(former)
        } else {
            self = stored == nil ? .unrecorded : .unchanged
        }
    }
}
