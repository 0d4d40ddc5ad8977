/// A change of the network and its consequence for each transfer. A plain value without I/O.
struct NetworkNews: Equatable, Sendable {
    enum Verdict: Equatable {
        case goOn
        /// The request is sent again on another connection.
        case startOver
        /// The request fails, for the given reason.
        case fail(String)
    }

    /// The observed state of a transfer's connection.
    struct Connection: Equatable {
        /// The local address; nil before the connection exists.
        var localAddress: String?
        /// Whether TCP is retransmitting without success.
        var isBackingOff = false
        /// Time since the other end received the whole request; nil before that, and once the reply has begun.
        var silence: Duration?
    }

    /// Maximum wait for a reply over a link that was down.
    ///
    /// The other end retransmits a lost reply after a pause that doubles each time (RFC 6298, section 5.5): the wait
    /// until its next attempt is at most as long as the time since its first.
    private static let longestSilence = Duration.seconds(3)

    /// Local addresses that no link has any more, in the notation of inet_ntop(3).
    var gone: Set<String> = []
    /// Local addresses whose link lost and regained its carrier.
    var returned: Set<String> = []

    func verdict(on connection: Connection) -> Verdict {
        guard let address = connection.localAddress else { return .startOver }
        if gone.contains(address) { return .fail("the network changed: the local address \(address) is gone") }
        if connection.isBackingOff { return .startOver }
        if returned.contains(address), let silence = connection.silence, silence >= Self.longestSilence {
            return .fail("the link of \(address) was down, so the reply may be lost")
        }
        return .goOn
    }
}
