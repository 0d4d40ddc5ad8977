/// Sends requests. A protocol, so that its callers can be tested against a scripted transport.
public protocol HTTPTransport: Sendable {
    /// Runs tasks on the transport's thread: a task that only sends requests then never switches threads. Such a task
    /// must not block, because all transfers wait for it. nil if the transport has no thread.
    var executor: (any TaskExecutor)? { get }

    /// Sends one request and waits for the reply, whatever its status.
    ///
    /// Sends credentials to the origin that they are for, and to no other (`TransportRequest.credentialsOrigin`). Never
    /// follows redirects. Retries in one case only: if a re-used connection turns out to be dead before the
    /// first byte of the reply, the request is sent again on a new connection. Cancelling the task aborts the
    /// transfer.
    func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply
}

extension HTTPTransport {
    /// No thread.
    public var executor: (any TaskExecutor)? { nil }
}
