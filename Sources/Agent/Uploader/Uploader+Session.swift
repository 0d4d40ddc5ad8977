import Logging
import Portrait
import Session
import UploadCore

// Signing in and out.
extension Uploader {
    /// The error while nothing is sent after a `logout`.
    static let signedOut = FileError(
        code: "signed_out", message: "signed out; uploads keep their progress and continue after `outbox login`",
        retryable: true)

    /// Whether the user signed out and there is no other token.
    var isSignedOut: Bool { parts.account.session.isSignedOut && parts.credentials.bearerToken() == nil }

    func signIn(token: String, user: String?) async throws(SessionError) -> Bool {
        guard parts.tokenMayTravel else { throw .mayNotTravel }
        let session = try StoredSession(token: token, user: user)
        // A token of higher precedence stays in use, for the same account.
        let isUsed = [nil, .login].contains(parts.credentials.origin)
        let isOther = isUsed && user != nil && user != parts.account.name
        // Nothing of the previous account may be sent with the new token.
        if isOther {
            // Files that arrive from now on do not belong to the previous account. The next start determines their
            // owner.
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
            // The uploader has stopped for the other account. Restart it for its own.
            if isOther { parts.account.change() }
            throw error
        }
        parts.logger.notice("a new token is stored", metadata: ["user": "\(user ?? "not named")"])
        if isOther { parts.account.change() } else { credentialsChanged() }
        return isOther
    }

    func signOut() async throws(SessionError) {
        // Stop sending before the token is removed: nothing may be sent without a token.
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
        if hadOne { parts.logger.notice("the stored token is discarded") }
        // Before the next event, which may bring a token that `login` did not store, such as one from the environment.
        if isInUse { parts.portrait?.service.handle(.signedOut) }
        credentialsChanged()
    }

    /// Handles new, changed or removed credentials.
    func credentialsChanged() {
        let wasSignedOut = machine.signedOut != nil
        if isSignedOut {
            process([.setSignedOut(Self.signedOut)])
            if status.problems[.session] == nil { saySignedOut() }
            return
        }
        if wasSignedOut { takeOverNobodys() }
        process(wasSignedOut ? [.setSignedOut(nil), .credentialsChanged] : [.credentialsChanged])
        if wasSignedOut {
            status.problems[.session] = nil
            tokenPoll?.cancel()
            tokenPoll = nil
        }
    }

    /// Logs once that nothing is sent, and starts polling for a token.
    func saySignedOut() {
        status.problems[.session] = Self.signedOut.message
        parts.logger.warning("signed out: nothing is sent until `outbox login`; uploads keep their progress")
        pollCredentials()
    }

    /// Polls for new credentials while the old ones are refused or missing.
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
