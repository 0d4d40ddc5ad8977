import LinuxSystem
package import Remotes
import Synchronization
package import UploadCore

/// Knows who is signed in, supplies the credential of each request, and watches for a new one.
///
/// Tokens and keys are in files, which may lie on a disk that hangs. A thread of this actor's own reads them, so the
/// cooperative pool never waits for such a file. Requests share what was read a moment ago. The members that are not
/// isolated read files as well, on the thread of their caller; `credential` does not.
package actor SessionKeeper: CredentialSource {
    /// A checked request to sign in.
    struct Login: Sendable {
        fileprivate let session: StoredSession
        /// Whether the token belongs to another account than the agent works for. The agent then restarts.
        let isOther: Bool
    }

    /// What signing out changed.
    package struct SignOut: Equatable, Sendable {
        /// Whether there was a stored token.
        package let hadToken: Bool
        /// Whether the agent used the stored token, or would have used one.
        package let wasInUse: Bool
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
    private let interval: Duration
    private nonisolated let supply = Mutex<Supply?>(nil)
    private var watching: Task<Void, Never>?

    /// The credential last supplied to a request.
    private struct Supply {
        var credential: Credential?
        /// Nanoseconds of `bootTimeNanoseconds` until which other requests get the same credential.
        var end: UInt64
    }

    /// Creates a keeper.
    ///
    /// - Parameter interval: how often requests and `watch` read the token at most.
    package init(_ credentials: Credentials, account: Account, interval: Duration = .seconds(1)) {
        self.credentials = credentials
        self.account = account
        self.interval = interval
        credentials.belong(to: account)
    }

    // MARK: Requests

    /// Returns the credential to use; `nil` to use none.
    ///
    /// Reads it again after `interval`, after a refusal (`watch`), and after each login, logout and reload.
    package nonisolated func credential() async -> Credential? {
        guard let supply = freshSupply else { return await readCredential() }
        return supply.credential
    }

    /// Where the access keys come from; nil for a token.
    package nonisolated var place: String? { credentials.keyPlace }

    private nonisolated var freshSupply: Supply? {
        supply.withLock { $0.flatMap { bootTimeNanoseconds() < $0.end ? $0 : nil } }
    }

    private func readCredential() -> Credential? {
        // Requests that waited for the same moment share one look.
        if let supply = freshSupply { return supply.credential }
        let end = bootTimeNanoseconds() + UInt64(max(interval.wholeNanoseconds, 0))
        let credential = credentials.credential()
        supply.withLock { $0 = Supply(credential: credential, end: end) }
        return credential
    }

    /// Has the next request read the credential.
    private nonisolated func forgetSupply() { supply.withLock { $0 = nil } }

    /// Names another file to look in first.
    package nonisolated func setTokenFile(_ path: String?) {
        credentials.setTokenFile(path)
        forgetSupply()
        // A look at the previous file may be in progress.
        thread.run { self.forgetSupply() }
    }

    /// Returns why nothing may be sent; `nil` if something may.
    package func refusal() -> FileError? { isSignedOut ? Self.signedOut : nil }

    // MARK: Who is signed in

    /// Whether the user signed out and there is no other credential. Reads files.
    package nonisolated var isSignedOut: Bool { account.session.isSignedOut && !hasCredential }

    /// Whether there is a credential. Reads files.
    package nonisolated var hasCredential: Bool { credentials.isPresent }

    /// Where the token in use comes from; `nil` without a token. Reads files.
    package nonisolated var origin: TokenOrigin? { credentials.origin }

    /// Whether the agent uses the token that `login` stores, or would use it if there were one. Reads files.
    private var usesStoredToken: Bool { [nil, .login].contains(origin) }

    // MARK: Signing in and out

    /// Stores a token and the name of its user. If they belong to another account, restarts the agent for that account.
    ///
    /// - Parameter stop: stops the agent, before the token of another account is stored. Nothing of the present account
    ///   may be sent with it.
    /// - Returns: whether the agent restarts.
    /// - Throws: `SessionError`.
    package func signIn(
        token: String, user: String?, stop: @Sendable () async -> Void
    ) async throws(SessionError) -> Bool {
        let login = try login(token: token, user: user)
        if login.isOther { await stop() }
        // After a failure, the stopped agent restarts for its own account.
        defer { if login.isOther { account.change() } }
        try account.session.save(login.session)
        forgetSupply()
        return login.isOther
    }

    /// Discards the stored token.
    ///
    /// - Parameter hold: holds all uploads for a reason, before the token in use is discarded: nothing may be sent
    ///   without a token. Called again with `nil` if the token can't be discarded.
    /// - Throws: `SessionError.inputOutput`, or `.keysOnly`.
    package func signOut(hold: @Sendable (FileError?) async -> Void) async throws(SessionError) -> SignOut {
        guard !credentials.areKeys else { throw .keysOnly }
        let isInUse = usesStoredToken
        if isInUse { await hold(Self.signedOut) }
        do throws(SessionError) {
            let hadToken = try account.session.remove()
            forgetSupply()
            return SignOut(hadToken: hadToken, wasInUse: isInUse)
        } catch {
            if isInUse { await hold(nil) }
            throw error
        }
    }

    /// Checks a token and the name of its user.
    ///
    /// - Throws: `SessionError` other than `inputOutput`.
    func login(token: String, user: String?) throws(SessionError) -> Login {
        guard !credentials.areKeys else { throw .keysOnly }
        guard credentials.mayTravel else { throw .mayNotTravel }
        let session = try StoredSession(token: token, user: user)
        // A token of higher precedence stays in use, for the same account.
        return Login(session: session, isOther: usesStoredToken && user != nil && user != account.name)
    }

    // MARK: Watching

    /// Begins to watch for a new credential, because the old one is refused or missing. Does nothing if that has begun.
    ///
    /// - Parameter changed: called after each change of the credential.
    package nonisolated func watch(_ changed: @escaping @Sendable () -> Void) {
        supply.withLock { $0?.end = 0 }
        thread.run { self.assumeIsolated { $0.beginToWatch(changed) } }
    }

    /// Ends `watch`.
    package nonisolated func stopWatching() {
        thread.run { self.assumeIsolated { $0.endWatching() } }
    }

    private func beginToWatch(_ changed: @escaping @Sendable () -> Void) {
        guard watching == nil else { return }
        // The refused credential. Its file may hold another one by now.
        let refused = supply.withLock { $0 }.map(\.credential) ?? credentials.credential()
        watching = Task { [weak self, interval] in
            var known = refused
            while (try? await Timers.sleep(for: interval)) != nil {
                guard let self else { return }
                let present = await self.presentCredential()
                if present == known { continue }
                known = present
                changed()
            }
        }
    }

    private func endWatching() {
        watching?.cancel()
        watching = nil
    }

    /// Reads the credential. The next request reads it as well, so that no change is reported before requests notice it.
    private func presentCredential() -> Credential? {
        forgetSupply()
        return credentials.credential()
    }
}
