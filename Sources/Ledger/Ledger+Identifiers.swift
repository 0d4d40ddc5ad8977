public import UploadCore

extension Ledger {
    /// A stable name of a path, 32 hexadecimal digits: the hash its record stands under.
    public static func identifier(of path: RelativePath) -> String {
        LedgerKeys.pathHash(path.bytes).hexadecimal
    }

    /// The drop whose path has an identifier; nil where there is none.
    ///
    /// - Parameter identifier: 32 hexadecimal digits; anything else finds nothing.
    public func drop(withIdentifier identifier: String) throws(LedgerError) -> DropRecord? {
        guard let key = ContentKey(hexadecimal: identifier) else { return nil }
        return try record(LedgerKeys.content(key) + [0])
    }
}
