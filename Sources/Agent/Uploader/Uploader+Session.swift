import Ledger
import Session
import UploadCore

// Signing in and out.
extension Uploader {
    /// Stops sending, because another account signs in. Files that arrive from now on do not belong to the previous
    /// account: the next start determines their owner. Earlier owners are made durable here.
    func stopForOther() async {
        beginToEnd()
        process([.stop])
        await portraits.service?.stop()
        await parts.ledger.commit(book.recordsOfOwners())
    }

    /// Handles new, changed or removed credentials.
    ///
    /// - Parameter isLogout: whether the user discarded the token in use.
    func credentialsChanged(isLogout: Bool = false) {
        perform(
            SessionSteps.credentialsChanged(
                isLogout: isLogout, isSignedOut: parts.session.isSignedOut, wasSignedOut: machine.signedOut != nil,
                isReported: status.problems[.session] != nil))
    }

    /// Assigns files that arrived while nobody was signed in to the present account. They must not go to the next
    /// one.
    func takeOverNobodys() {
        guard let present = book.ownership.present else { return }
        let writes = book.giveNobodys(to: present, facts: world)
        if !writes.isEmpty { process([], writes: writes) }
        handle(posts: .signedIn(present))
    }
}
