package import Ledger

/// The account that owns the uploads. A confirmation for one account proves nothing for another. An agent therefore
/// works for one account from start to end.
package struct Account: Sendable {
    /// The name given at `login`; `default` if no name was ever given.
    package let name: String
    /// Stores what `login` received.
    package let session: SessionStore
    /// Restarts the agent for another account.
    package let change: @Sendable () -> Void

    package init(name: String, session: SessionStore, change: @escaping @Sendable () -> Void) {
        self.name = name
        self.session = session
        self.change = change
    }

    /// The account in the ledger's records; `nil` if nobody ever signed in by name.
    package var owner: String? { name == Self.nobody ? nil : name }

    /// The name of the account without a name.
    private static let nobody = "default"

    /// The ledger's setting that keeps the name after a `logout`, so that the same user's uploads resume after the
    /// next `login`.
    package static let setting = "account"

    /// Returns the account that signed in last.
    ///
    /// - Parameter origin: where the token in use comes from. Only a token that `login` stored identifies its user.
    package static func current(
        session: SessionStore, ledger: Ledger, origin: TokenOrigin?, change: @escaping @Sendable () -> Void
    ) -> Account {
        let remembered = (try? ledger.setting(setting)).flatMap { String(validating: $0, as: UTF8.self) }
        let user = origin == .login ? session.load()?.user : nil
        return Account(name: user ?? remembered ?? nobody, session: session, change: change)
    }
}
