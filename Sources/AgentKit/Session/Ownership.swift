import UploadCore

/// Whose drops are whose: a file belongs to whoever was signed in when it was dropped, and is sent with nobody else's
/// token.
struct Ownership: Equatable, Sendable {
    /// Who signed in before the present account.
    struct Former: Equatable, Sendable {
        /// As records name accounts.
        var account: String?
        /// When the present account signed in, nanoseconds since 1970.
        var until: Int64

        init(account: String?, until: Int64) {
            self.account = account
            self.until = until
        }

        /// Reads what `bytes` gave; nil for anything else.
        init?(_ bytes: [UInt8]) {
            let parts = String(decoding: bytes, as: UTF8.self).split(separator: " ", maxSplits: 1)
            guard let first = parts.first, let until = Int64(first) else { return nil }
            self.init(account: parts.count > 1 ? String(parts[1]) : nil, until: until)
        }

        /// As the ledger keeps it.
        var bytes: [UInt8] { Array(("\(until)" + (account.map { " " + $0 } ?? "")).utf8) }
    }

    /// Who is signed in, or was last; nil where nobody has ever signed in by name.
    let present: String?
    /// Whose files are those that are found at start, were dropped before, and are not known yet.
    let former: Former?

    /// Whether something waits until its owner is back. What was dropped before anybody signed in by name belongs to
    /// whoever signs in.
    func isParked(_ account: String?) -> Bool { account != nil && account != present }

    /// Who owns a file that is not known yet.
    ///
    /// - Parameters:
    ///   - changed: its ctime, nanoseconds since 1970; nil where it can't be told. It tells when the file came: renaming and
    ///     linking change it as well.
    ///   - isFound: whether the first scan found it: it may have come long before.
    func owner(changed: Int64?, isFound: Bool) -> String? {
        guard isFound, let former, let changed, changed < former.until else { return present }
        return former.account ?? present
    }
}
