import LinuxSystem
import Remotes
package import UploadCore

/// Knows who is signed in, supplies the token of each request, and watches for a new token.
///
/// Tokens are in files, which may lie on a disk that hangs. A thread of this actor's own reads them, so the cooperative
/// pool never waits for a token file. The members that are not isolated read files as well, on the thread of their
/// caller.
package actor SessionKeeper: CredentialSource {
    /// A checked request to sign in.
    package struct Login: Sendable {
        fileprivate let session: StoredSession
        /// Whether the token belongs to another account than the agent works for. The agent then restarts.
        package let isOther: Bool
    }

    /// The error while nothing is sent after a `logout`.
    package static let signedOut = FileError(
        code: "signed_out", message: "signed out; uploads keep their progress and continue after `outbox login`",
        retryable: true)

    private let thread = SerialThread(name: "session")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The account that the agent works for.
    package nonisolated let account: Account
    private let credentials: Credentials
    /// Whether a token may be sent to this server. It may not travel over plain http to another machine
    /// (`remote.insecure_http`).
    private let mayTravel: Bool
    private let interval: Duration
    private var watching: Task<Void, Never>?

    /// Creates a keeper.
    ///
    /// - Parameter interval: how often `watch` reads the token.
    package init(
        _ credentials: Credentials, account: Account, mayTravel: Bool, interval: Duration = .seconds(1)
    ) {
        self.credentials = credentials
        self.account = account
        self.mayTravel = mayTravel
        self.interval = interval
        credentials.belong(to: account)
    }

    // MARK: Requests

    /// Returns the token to send; `nil` to send none.
    package func bearerToken() -> String? { mayTravel ? credentials.bearerToken() : nil }

    /// Returns why nothing may be sent; `nil` if something may.
    package func refusal() -> FileError? { isSignedOut ? Self.signedOut : nil }

    // MARK: Who is signed in

    /// Whether the user signed out and there is no other token. Reads files.
    package nonisolated var isSignedOut: Bool { account.session.isSignedOut && !hasToken }

    /// Whether there is a token. Reads files.
    package nonisolated var hasToken: Bool { credentials.bearerToken() != nil }

    /// Where the token in use comes from; `nil` without a token. Reads files.
    package nonisolated var origin: TokenOrigin? { credentials.origin }

    /// Whether the agent uses the token that `login` stores, or would use it if there were one. Reads files.
    package nonisolated var usesStoredToken: Bool { [nil, .login].contains(origin) }

    // MARK: Signing in and out

    /// Checks a token and the name of its user. Reads files.
    ///
    /// - Throws: `SessionError` other than `inputOutput`.
    package nonisolated func login(token: String, user: String?) throws(SessionError) -> Login {
        guard mayTravel else { throw .mayNotTravel }
        let session = try StoredSession(token: token, user: user)
        // A token of higher precedence stays in use, for the same account.
        return Login(session: session, isOther: usesStoredToken && user != nil && user != account.name)
    }

    /// Stores the token and the name of its user.
    ///
    /// - Throws: `SessionError.inputOutput`.
    package func store(_ login: Login) throws(SessionError) { try account.session.save(login.session) }

    /// Discards the stored token.
    ///
    /// - Returns: whether there was one.
    /// - Throws: `SessionError.inputOutput`.
    package func discard() throws(SessionError) -> Bool { try account.session.remove() }

    // MARK: Watching

    /// Begins to watch for a new token, because the old one is refused or missing. Does nothing if that has begun.
    ///
    /// - Parameter changed: called after each change of the token.
    package nonisolated func watch(_ changed: @escaping @Sendable () -> Void) {
        thread.run { self.assumeIsolated { $0.beginToWatch(changed) } }
    }

    /// Ends `watch`.
    package nonisolated func stopWatching() {
        thread.run { self.assumeIsolated { $0.endWatching() } }
    }

    private func beginToWatch(_ changed: @escaping @Sendable () -> Void) {
        guard watching == nil else { return }
        watching = Task { [weak self, interval, refused = credentials.bearerToken()] in
            var known = refused
            while (try? await Task.sleep(for: interval)) != nil {
                guard let self else { return }
                let token = await self.presentToken()
                if token == known { continue }
                known = token
                changed()
            }
        }
    }

    private func endWatching() {
        watching?.cancel()
        watching = nil
    }

    private func presentToken() -> String? { credentials.bearerToken() }
}
