import Logging
import Remotes
import Session
import Transport
import UploadCore

/// What follows from news about credentials.
enum SessionSteps {
    /// Log once that nothing is sent, and watch for a token.
    static let signedOut: [AgentStep] = [
        .problem(.session, SessionKeeper.signedOut.message),
        .log(.warning, "signed out: nothing is sent until `outbox login`; uploads keep their progress", [:]),
        .watchForToken,
    ]

    /// Credentials are new, changed or removed.
    ///
    /// - Parameters:
    ///   - isLogout: whether the user discarded the token in use.
    ///   - isSignedOut: whether the user signed out and there is no other token.
    ///   - wasSignedOut: whether the upload machine waits for a login.
    ///   - isReported: whether the status already says that nothing is sent.
    static func credentialsChanged(
        isLogout: Bool, isSignedOut: Bool, wasSignedOut: Bool, isReported: Bool
    ) -> [AgentStep] {
        // Before the next event, which may bring a token that `login` did not store, such as one from the environment.
        let end: [AgentStep] = isLogout ? [.tellPortraits(.signedOut)] : []
        if isSignedOut {
            return end + [.uploads([.setSignedOut(SessionKeeper.signedOut)])] + (isReported ? [] : signedOut)
        }
        guard wasSignedOut else { return end + [.uploads([.credentialsChanged])] }
        return end + [
            .handle(.signedIn(isOther: false)), .uploads([.setSignedOut(nil), .credentialsChanged]),
            .problem(.session, nil),
            .stopWatchingForToken,
        ]
    }

    /// The server is in trouble or refuses the credentials, or works again (`nil`).
    ///
    /// - Parameter usesKeys: whether the protocol uses access keys. The error then names their place.
    static func serverTrouble(_ error: FileError?, usesKeys: Bool) -> [AgentStep] {
        let news: [AgentStep] = [.problem(.server, error?.message), .tellPortraits(.serverTrouble(error))]
        guard let error else { return news + [.stopWatchingForToken, .log(.notice, "the server is back", [:])] }
        let metadata = ["code": error.code, "reason": error.message]
        guard error.isSignedOut else {
            let message = "nothing is uploaded at the moment; the agent tries again by itself"
            return news + [.stopWatchingForToken, .log(.warning, message, metadata)]
        }
        let message =
            usesKeys
            ? "the server refuses the access keys; uploads continue once they are corrected"
            : "the server requires another token: run `outbox login`, or write it to remote.token_file; uploads then continue"
        return news + [.log(.warning, message, metadata), .watchForToken]
    }

    /// The server refuses a file while it takes others, or refuses none any more (`nil`).
    static func refusal(_ error: FileError?) -> [AgentStep] {
        let news = [AgentStep.problem(.refused, error?.message)]
        guard let error else { return news }
        let message = "a file is refused, and the others go on"
        return news + [.log(.warning, message, ["code": error.code, "reason": error.message])]
    }

    /// The server refused the token of a profile picture.
    static func portraitRefused(_ error: FileError) -> [AgentStep] {
        let message = "the server refused the session, so the waiting profile picture is discarded"
        return [.log(.warning, message, ["reason": error.message]), .watchForToken]
    }
}

/// Sends no profile picture after a `logout`, not even without a token.
struct SignedInPortraitRemote: PortraitRemote {
    let remote: any PortraitRemote
    let session: SessionKeeper

    func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String {
        if let refusal = await session.refusal() { throw .signedOut(refusal) }
        return try await remote.replacePortrait(picture)
    }
}
