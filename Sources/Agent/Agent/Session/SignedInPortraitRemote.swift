import Remotes
import Session
import Transport
import UploadCore

/// Sends no profile picture after a `logout`, not even without a token.
struct SignedInPortraitRemote: PortraitRemote {
    let remote: any PortraitRemote
    let session: SessionKeeper

    func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String {
        if let refusal = await session.refusal() { throw .signedOut(refusal) }
        return try await remote.replacePortrait(picture)
    }
}
