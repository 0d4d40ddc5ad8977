import Ledger
import UploadCore

/// Whose uploads these are. What one account's server confirmed says nothing of another's, so an agent works for one
/// account from its start to its end.
struct Account: Sendable {
    /// The name given at `login`, or `default` where none ever was.
    let name: String
    /// Keeps what was given at `login`.
    let session: SessionStore
    /// Has the agent begin anew, as another account's.
    let change: @Sendable () -> Void

    /// As the ledger's records name it; nil where nobody has ever signed in by name.
    var owner: String? { name == Self.nobody ? nil : name }

    /// The name of an account that has none.
    private static let nobody = "default"

    /// The ledger's setting that remembers the name after a `logout`: who comes back goes on.
    static let setting = "account"

    /// The account that signed in last.
    ///
    /// - Parameter origin: where the token in use comes from: one that `login` did not keep says nothing of whose it is.
    static func current(
        session: SessionStore, ledger: Ledger, origin: TokenOrigin?, change: @escaping @Sendable () -> Void
    ) -> Account {
        let remembered = (try? ledger.setting(setting)).flatMap { String(validating: $0, as: UTF8.self) }
        let user = origin == .login ? session.load()?.user : nil
        return Account(name: user ?? remembered ?? nobody, session: session, change: change)
    }
}
