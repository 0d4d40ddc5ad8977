import Remotes
import Session
import Transport
import UploadCore

/// Sends no profile picture after a `logout`, not even without a token.
struct SignedInPortraitRemote: PortraitRemote {
    let remote: any PortraitRemote
    let session: SessionStore
    let credentials: Credentials

    func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String {
        if credentials.bearerToken() == nil, session.isSignedOut { throw .signedOut(Uploader.signedOut) }
        return try await remote.replacePortrait(picture)
    }
}
