import Ledger
import Logging
import Session
import UploadCore

// Signing in and out.
extension Uploader {
    func signIn(token: String, user: String?) async throws(SessionError) -> Bool {
        let isOther = try await parts.session.signIn(token: token, user: user) { await self.stopForOther() }
        parts.logger.notice("a new token is stored", metadata: ["user": "\(user ?? "not named")"])
        if !isOther { credentialsChanged() }
        return isOther
    }

    /// Stops sending, because another account signs in. Files that arrive from now on do not belong to the previous
    /// account: the next start determines their owner. Earlier owners are made durable here.
    private func stopForOther() async {
        beginToEnd()
        process([.stop])
        await portraits.service?.stop()
        await parts.ledger.commit(book.recordsOfOwners())
    }

    func signOut() async throws(SessionError) {
        let end = try await parts.session.signOut { await self.process([.setSignedOut($0)]) }
        if end.hadToken { parts.logger.notice("the stored token is discarded") }
        // Before the next event, which may bring a token that `login` did not store, such as one from the environment.
        if end.wasInUse { portraits.service?.handle(.signedOut) }
        credentialsChanged()
    }

    /// Handles new, changed or removed credentials.
    func credentialsChanged() {
        perform(
            SessionSteps.credentialsChanged(
                isSignedOut: parts.session.isSignedOut, wasSignedOut: machine.signedOut != nil,
                isReported: status.problems[.session] != nil))
    }

    /// Assigns files that arrived while nobody was signed in to the present account. They must not go to the next
    /// one.
    func takeOverNobodys() {
        guard let present = ownership.present else { return }
        let writes = book.giveNobodys(to: present)
        if !writes.isEmpty { process([], writes: writes) }
        handle(posts: .signedIn(present))
    }
}
