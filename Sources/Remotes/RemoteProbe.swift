public import Transport

/// The requests with which `outbox doctor` and `outbox login` examine a server of one protocol. They change nothing on the
/// server and contain no credentials; the sender adds these.
public protocol RemoteProbe: Sendable {
    /// A question that every server of the protocol answers, if it accepts the credentials.
    var question: TransportRequest { get }

    /// Returns a fragment of an upload that does not exist. Shows whether a proxy removes the header field that describes
    /// fragments.
    ///
    /// - Returns: nil if the protocol has no such field.
    func strayFragment(withHeader: Bool) throws(TransportError) -> TransportRequest?
}
