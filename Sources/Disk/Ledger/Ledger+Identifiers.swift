public import UploadCore

extension Ledger {
    /// Returns a path's stable identifier, 32 hexadecimal digits: the hashes in its record's key.
    public static func identifier(of path: RelativePath) -> String {
        DropTable().prefix(of: path).hexadecimal
    }

    /// Returns the drop whose path has an identifier; nil if none does.
    ///
    /// - Parameter identifier: 32 hexadecimal digits; any other text finds no drop.
    public func drop(withIdentifier identifier: String) throws(LedgerError) -> DropRecord? {
        guard let key = ContentKey(hexadecimal: identifier) else { return nil }
        return try record(LedgerKeys.content(key) + [0])
    }
}
