import Logging
import Portrait
import Session
import UploadCore

// Signing in and out.
extension Uploader {
    func signIn(token: String, user: String?) async throws(SessionError) -> Bool {
        let session = parts.session
        let login = try session.login(token: token, user: user)
        // Nothing of the previous account may be sent with the new token.
        if login.isOther {
            // Files that arrive from now on do not belong to the previous account. The next start determines their
            // owner.
            beginToEnd()
            process([.stop])
            await portraits.service?.stop()
            await keepOwners()
        }
        do throws(SessionError) {
            try await session.store(login)
        } catch {
            // The uploader has stopped for the other account. Restart it for its own.
            if login.isOther { session.account.change() }
            throw error
        }
        parts.logger.notice("a new token is stored", metadata: ["user": "\(user ?? "not named")"])
        if login.isOther { session.account.change() } else { credentialsChanged() }
        return login.isOther
    }

    func signOut() async throws(SessionError) {
        // Stop sending before the token is removed: nothing may be sent without a token.
        let isInUse = parts.session.usesStoredToken
        if isInUse { process([.setSignedOut(SessionKeeper.signedOut)]) }
        let hadOne: Bool
        do throws(SessionError) {
            hadOne = try await parts.session.discard()
        } catch {
            if isInUse { process([.setSignedOut(nil)]) }
            throw error
        }
        if hadOne { parts.logger.notice("the stored token is discarded") }
        // Before the next event, which may bring a token that `login` did not store, such as one from the environment.
        if isInUse { portraits.service?.handle(.signedOut) }
        credentialsChanged()
    }

    /// Handles new, changed or removed credentials.
    func credentialsChanged() {
        let wasSignedOut = machine.signedOut != nil
        if parts.session.isSignedOut {
            process([.setSignedOut(SessionKeeper.signedOut)])
            if status.problems[.session] == nil { saySignedOut() }
            return
        }
        if wasSignedOut { takeOverNobodys() }
        process(wasSignedOut ? [.setSignedOut(nil), .credentialsChanged] : [.credentialsChanged])
        if wasSignedOut {
            status.problems[.session] = nil
            parts.session.stopWatching()
        }
    }

    /// Logs once that nothing is sent, and watches for a token.
    func saySignedOut() {
        status.problems[.session] = SessionKeeper.signedOut.message
        parts.logger.warning("signed out: nothing is sent until `outbox login`; uploads keep their progress")
        watchForToken()
    }

    /// Watches for new credentials while the old ones are refused or missing.
    func watchForToken() {
        parts.session.watch { [weak self] in self?.run { $0.credentialsChanged() } }
    }
}
