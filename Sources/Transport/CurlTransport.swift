/// HTTP/1.1 over libcurl: all transfers run on one thread of their own, on connections that are kept open and re-used.
///
/// Proxies are taken from the usual variables (`http_proxy`, `https_proxy`, `ALL_PROXY`, `NO_PROXY`; man 1 curl). This
/// machine's own addresses (``LoopbackHost``) never go through one: what is safe to say to a neighbour on loopback is
/// not to be told to a proxy. TLS is 1.2 or newer and always verified.
public final class CurlTransport: HTTPTransport {
    /// How a transport behaves.
    public struct Configuration: Sendable {
        /// Finding the address, connecting and the TLS handshake together.
        public var connectTimeout: Duration
        /// Sending: no byte moved for this long. Pauses made for `bandwidthLimit` do not count.
        public var stallTimeout: Duration
        /// From the last byte sent to the last byte of the reply.
        public var replyTimeout: Duration
        /// PEM file with certificate authorities to trust beside the system's; nil: the system's alone.
        public var caFile: String?
        /// Most bytes of bodies sent per second, over all transfers; 0: no limit.
        public var bandwidthLimit: UInt64
        /// Most transfers at once, and most connections kept; more requests wait their turn. At least 1.
        public var maximumConnections: Int
        /// Value of `User-Agent`.
        public var userAgent: String

        /// A configuration; the defaults are those of `agent.toml`.
        public init(
            connectTimeout: Duration = .seconds(30), stallTimeout: Duration = .seconds(30),
            replyTimeout: Duration = .seconds(600), caFile: String? = nil, bandwidthLimit: UInt64 = 0,
            maximumConnections: Int = 64, userAgent: String = "outbox"
        ) {
            self.connectTimeout = connectTimeout
            self.stallTimeout = stallTimeout
            self.replyTimeout = replyTimeout
            self.caFile = caFile
            self.bandwidthLimit = bandwidthLimit
            self.maximumConnections = maximumConnections
            self.userAgent = userAgent
        }

        var timeouts: TransportRequest.Timeouts {
            TransportRequest.Timeouts(connect: connectTimeout, stall: stallTimeout, reply: replyTimeout)
        }
    }

    /// libcurl, or the thread it runs on, could not be started.
    public struct StartError: Error, CustomStringConvertible {
        /// What failed.
        public let description: String
    }

    private let engine: TransferEngine

    /// Starts the transport's thread.
    ///
    /// - Throws: ``StartError``.
    public init(configuration: Configuration = Configuration()) throws(StartError) {
        engine = try TransferEngine(configuration: configuration)
    }

    deinit { engine.shutdown() }

    /// Sends one request; see ``HTTPTransport/send(_:)``.
    public func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply {
        try await engine.send(request)
    }

    /// Changes the bandwidth limit of transfers that run and of those to come.
    ///
    /// - Parameter bytesPerSecond: of bodies, over all transfers; 0: no limit.
    public func setBandwidthLimit(_ bytesPerSecond: UInt64) {
        engine.setBandwidthLimit(bytesPerSecond)
    }

    /// Tells that the network changed.
    ///
    /// Transfers whose connection is bound to a gone address fail with ``TransportError/reset(_:)``, since nothing would
    /// ever come back to them. So do those that have been waiting for a reply on a returned address for 3 s: a reply
    /// that was sent while the link was down comes late or never. Transfers that are still looking up a name or connecting begin
    /// anew, and so do those whose connection tries in vain to send: TCP waits longer each time, and would go on waiting
    /// in a network that is back. Idle connections are not used again. Everything else goes on.
    ///
    /// - Parameters:
    ///   - goneAddresses: local addresses that no link has any more, as inet_ntop(3) writes them.
    ///   - returnedAddresses: local addresses whose link lost its carrier and has it again.
    public func networkChanged(goneAddresses: Set<String> = [], returnedAddresses: Set<String> = []) {
        engine.networkChanged(NetworkNews(gone: goneAddresses, returned: returnedAddresses))
    }

    /// Changes the time limits of transfers to come.
    ///
    /// - Parameters:
    ///   - stall: see ``Configuration/stallTimeout``.
    ///   - reply: see ``Configuration/replyTimeout``.
    public func setTimeouts(stall: Duration, reply: Duration) {
        engine.setTimeouts(stall: stall, reply: reply)
    }

    /// Fails every request with ``TransportError/cancelled``, closes all connections and waits for the thread to end.
    ///
    /// Requests made afterwards fail at once. Calling it again does nothing.
    public func shutdown() {
        engine.shutdown()
    }
}
