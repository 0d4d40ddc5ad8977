/// Decides which account owns a drop. A file belongs to the account that was signed in when the file was dropped; no
/// other account's token may send it.
package struct Ownership: Equatable, Sendable {
    /// A period during which another account was signed in.
    package struct Turn: Equatable, Sendable {
        /// The account as records name it; `nobody` if no account was signed in.
        var account: String
        /// When the next account signed in, in nanoseconds since 1970.
        var until: Int64

        package init(account: String, until: Int64) {
            self.account = account
            self.until = until
        }
    }

    /// The account signed in now, or the last one; nil if no account ever signed in by name.
    package let present: String?
    /// Earlier turns, oldest first. They decide who owns unknown files that the first scan finds.
    let turns: [Turn]

    /// Creates the ownership as known at start.
    package init(present: String?, turns: [Turn] = [], legacy: String? = nil) {
        self.present = present
        self.turns = turns
        self.legacy = legacy
    }

    /// The owner of records that name no account. Such records were written before records named accounts.
    package let legacy: String?

    /// The account in records of drops that came while nobody was signed in. The next account to sign in takes them.
    package static let nobody = ""

    /// Returns the owner named by a record; nil if the next account to sign in takes the file.
    func owner(_ account: String?) -> String? { account == Self.nobody ? nil : account ?? legacy }

    /// Returns the account that must sign in before the file can be sent; nil if the present or any account can send
    /// it.
    package func absentOwner(_ account: String?) -> String? { owner(account).flatMap { $0 == present ? nil : $0 } }

    /// Whether the file waits until its owner signs in again.
    package func isParked(_ account: String?) -> Bool { absentOwner(account) != nil }

    /// Returns the owner of a file that is not known yet.
    ///
    /// - Parameters:
    ///   - changed: the file's ctime in nanoseconds since 1970; nil if unknown. Renaming and linking change ctime too,
    ///     so ctime says when the file arrived.
    ///   - isFound: whether the first scan found the file. Such a file may have arrived long before.
    func owner(changed: Int64?, isFound: Bool) -> String? {
        guard isFound, let changed, let turn = turns.first(where: { changed < $0.until }) else { return present }
        return owner(turn.account) ?? present
    }
}

// The text format of turns: one line each, with a time and an account name.
extension Ownership {
    /// The maximum number of turns to write. Older turns decide about no file that is still unknown.
    private static let mostTurns = 64

    /// Returns the most recent turns as lines of text.
    package static func text(of turns: [Turn]) -> String {
        turns.suffix(mostTurns).map { "\($0.until) \($0.account)" }.joined(separator: "\n")
    }

    /// Parses the output of `text(of:)`. Skips malformed lines.
    package static func turns(_ text: String) -> [Turn] {
        text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let until = Int64(parts[0]) else { return nil }
            return Turn(account: String(parts[1]), until: until)
        }
    }
}
