/// What is new of the network, and what that means for a transfer. A value: what it knows, it is told.
struct NetworkNews: Equatable, Sendable {
    enum Verdict: Equatable {
        case goOn
        /// It is sent again on another connection.
        case startOver
        /// It fails, for this reason.
        case fail(String)
    }

    /// What can be seen of a transfer's connection at one moment.
    struct Connection: Equatable {
        /// This end's address; nil before there is a connection.
        var localAddress: String?
        /// Whether TCP tries in vain to send.
        var isBackingOff = false
        /// For how long the other end has had the whole request and did not begin to reply; nil where it has not, or did.
        var silence: Duration?
    }

    /// How long a reply may have been waited for over a link that was down.
    ///
    /// The other end sends a lost reply again after a pause that doubles each time (RFC 6298, section 5.5): its next attempt is
    /// at most as far away as its first one is past.
    private static let longestSilence = Duration.seconds(3)

    /// Local addresses that no link has any more, as inet_ntop(3) writes them.
    var gone: Set<String> = []
    /// Local addresses whose link lost its carrier and has it again.
    var returned: Set<String> = []

    func verdict(on connection: Connection) -> Verdict {
        guard let address = connection.localAddress else { return .startOver }
        if gone.contains(address) { return .fail("the network changed: the local address \(address) is gone") }
        if connection.isBackingOff { return .startOver }
        if returned.contains(address), let silence = connection.silence, silence >= Self.longestSilence {
            return .fail("the link of \(address) was down, and the reply may be lost with it")
        }
        return .goOn
    }
}
