/// Whose drops are whose: a file belongs to whoever was signed in when it was dropped, and is sent with nobody else's
/// token.
package struct Ownership: Equatable, Sendable {
    /// A time in which somebody else was signed in.
    package struct Turn: Equatable, Sendable {
        /// As records name accounts: `nobody` where nobody was.
        package var account: String
        /// When the next one signed in, nanoseconds since 1970.
        package var until: Int64

        package init(account: String, until: Int64) {
            self.account = account
            self.until = until
        }
    }

    /// Who is signed in, or was last; nil where nobody has ever signed in by name.
    package let present: String?
    /// The turns before the present one, oldest first: whose files are those that are found at start and not known yet.
    package let turns: [Turn]

    /// What is known at start.
    package init(present: String?, turns: [Turn] = [], legacy: String? = nil) {
        self.present = present
        self.turns = turns
        self.legacy = legacy
    }

    /// Whose everything is that records name nobody for: they are of a time before they named accounts.
    package let legacy: String?

    /// What records say of a drop that came while nobody was signed in: it is taken by whoever signs in next.
    package static let nobody = ""

    /// Who a record says owns its file; nil where that is whoever signs in.
    package func owner(_ account: String?) -> String? { account == Self.nobody ? nil : account ?? legacy }

    /// The account that has to sign in before a record's file can be sent; nil where it is the present one, or any.
    package func absentOwner(_ account: String?) -> String? { owner(account).flatMap { $0 == present ? nil : $0 } }

    /// Whether something waits until its owner is back.
    package func isParked(_ account: String?) -> Bool { absentOwner(account) != nil }

    /// Who owns a file that is not known yet.
    ///
    /// - Parameters:
    ///   - changed: its ctime, nanoseconds since 1970; nil where it can't be told. It tells when the file came: renaming and
    ///     linking change it as well.
    ///   - isFound: whether the first scan found it: it may have come long before.
    package func owner(changed: Int64?, isFound: Bool) -> String? {
        guard isFound, let changed, let turn = turns.first(where: { changed < $0.until }) else { return present }
        return owner(turn.account) ?? present
    }
}

// Turns as they are kept in a file: a line each, of a time and a name.
extension Ownership {
    /// Turns further back tell of no file that is still to be looked at for the first time.
    private static let mostTurns = 64

    /// The lines of the last turns.
    package static func text(of turns: [Turn]) -> String {
        turns.suffix(mostTurns).map { "\($0.until) \($0.account)" }.joined(separator: "\n")
    }

    /// Reads what `text` gave; what is not understood is left out.
    package static func turns(_ text: String) -> [Turn] {
        text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let until = Int64(parts[0]) else { return nil }
            return Turn(account: String(parts[1]), until: until)
        }
    }
}
