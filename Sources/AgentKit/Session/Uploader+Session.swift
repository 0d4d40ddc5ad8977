import Logging
import UploadCore

// Signing in and out.
extension Uploader {
    /// Why nothing is sent after a `logout`.
    static let signedOut = FileError(
        code: "signed_out", message: "signed out; everything is kept, and `outbox login` goes on", retryable: true)

    /// Whether the user signed out, and nothing else gives a token.
    var isSignedOut: Bool { parts.account.session.isSignedOut && parts.credentials.bearerToken() == nil }

    func signIn(token: String, user: String?) async throws(SessionError) -> Bool {
        guard parts.tokenMayTravel else { throw .mayNotTravel }
        let session = try StoredSession(token: token, user: user)
        // A token that takes precedence goes on being used, for whom it was.
        let isUsed = [nil, .login].contains(parts.credentials.origin)
        let isOther = isUsed && user != nil && user != parts.account.name
        // Nothing of the account before may be sent with the new token.
        if isOther {
            // Nor may anything that comes from now on be taken as theirs: the next start finds it, for whom it is.
            beginToEnd()
            process([.stop])
            await parts.portrait?.service.stop()
            await keepOwners()
        }
        do throws(SessionError) {
            try await onReader { [store = parts.account.session] in
                Result { () throws(SessionError) in try store.save(session) }
            }.get()
        } catch {
            // It has stopped for the other account, and must go on with its own.
            if isOther { parts.account.change() }
            throw error
        }
        parts.logger.notice("a new token is kept", metadata: ["user": "\(user ?? "not named")"])
        if isOther { parts.account.change() } else { credentialsChanged() }
        return isOther
    }

    func signOut() async throws(SessionError) {
        // Before the token goes: nothing may be sent without one.
        let isInUse = [nil, .login].contains(parts.credentials.origin)
        if isInUse { process([.setSignedOut(Self.signedOut)]) }
        let hadOne: Bool
        do throws(SessionError) {
            hadOne = try await onReader { [store = parts.account.session] in
                Result { () throws(SessionError) in try store.remove() }
            }.get()
        } catch {
            if isInUse { process([.setSignedOut(nil)]) }
            throw error
        }
        if hadOne { parts.logger.notice("the token that was kept is discarded") }
        credentialsChanged()
        if isInUse { parts.portrait?.service.signedOut() }
    }

    /// There may be new credentials, or none any more.
    func credentialsChanged() {
        let wasSignedOut = machine.signedOut != nil
        if isSignedOut {
            process([.setSignedOut(Self.signedOut)])
            if problems["session"] == nil { saySignedOut() }
            return
        }
        if wasSignedOut { takeOverNobodys() }
        process(wasSignedOut ? [.setSignedOut(nil), .credentialsChanged] : [.credentialsChanged])
        if wasSignedOut {
            problems["session"] = nil
            tokenPoll?.cancel()
            tokenPoll = nil
        }
        parts.portrait?.service.credentialsChanged()
    }

    /// Says once that nothing is sent, and looks for a token that may come.
    func saySignedOut() {
        problems["session"] = Self.signedOut.message
        parts.logger.warning("signed out: nothing is sent until `outbox login`; everything is kept")
        pollCredentials()
    }

    /// Looks for new credentials as long as the old ones are refused, or there are none.
    func pollCredentials() {
        guard tokenPoll == nil else { return }
        tokenPoll = Task { [weak self, credentials = parts.credentials] in
            var refused = credentials.bearerToken()
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                let token = credentials.bearerToken()
                if token == refused { continue }
                refused = token
                self?.run { $0.credentialsChanged() }
            }
        }
    }
}
