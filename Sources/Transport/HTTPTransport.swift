/// Sends requests. One protocol, so that what stands above can be tested against a scripted transport.
public protocol HTTPTransport: Sendable {
    /// Sends one request and waits for its reply, whatever its status.
    ///
    /// Redirects are never followed. Nothing is retried, except that a request whose re-used connection turns out
    /// dead before a byte of reply came is sent once more on a new one. Cancelling the task aborts the transfer.
    func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply
}
