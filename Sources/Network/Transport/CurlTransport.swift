/// HTTP/1.1 over libcurl: all transfers run on one dedicated thread, over persistent connections.
///
/// Proxies come from the usual variables (`http_proxy`, `https_proxy`, `ALL_PROXY`, `NO_PROXY`; man 1 curl). Requests
/// to this machine's own addresses (`HostName.isLoopback`) never use a proxy: data that is safe on loopback must not
/// reach a proxy. TLS is 1.2 or newer and always verified.
public final class CurlTransport: HTTPTransport {
    /// Settings of a transport.
    public struct Configuration: Sendable {
        /// Limit for the name look-up, connecting and the TLS handshake together.
        public var connectTimeout: Duration
        /// Limit for a time without progress while sending. Pauses made for `bandwidthLimit` do not count.
        public var stallTimeout: Duration
        /// Limit from the last byte sent to the last byte of the reply.
        public var replyTimeout: Duration
        /// PEM file with certificate authorities to trust in addition to the system's; nil trusts only the system's.
        public var caFile: String?
        /// Maximum body bytes sent per second, over all transfers; 0 means no limit.
        public var bandwidthLimit: UInt64
        /// Maximum number of parallel transfers and of kept connections, at least 1; further requests wait.
        public var maximumConnections: Int
        /// Value of `User-Agent`.
        public var userAgent: String

        /// Creates a configuration; the defaults are those of `agent.toml`.
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

    /// libcurl or the transport's thread could not be started.
    public struct StartError: Error, CustomStringConvertible {
        /// The failed step.
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

    /// Runs tasks on the transport's thread, or elsewhere after ``shutdown()``; see ``HTTPTransport/executor``.
    public var executor: (any TaskExecutor)? { engine.executor }

    /// Sends one request; see ``HTTPTransport/send(_:)``.
    public func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply {
        try await engine.send(request)
    }

    /// Changes the bandwidth limit of running and future transfers.
    ///
    /// - Parameter bytesPerSecond: limit for bodies, over all transfers; 0 means no limit.
    public func setBandwidthLimit(_ bytesPerSecond: UInt64) {
        engine.setBandwidthLimit(bytesPerSecond)
    }

    /// Handles a change of the network.
    ///
    /// A transfer on a gone address fails with ``TransportError/reset(_:)``, since no packet would ever come back.
    /// The same happens to a transfer on a returned address that has waited for its reply for 3 s: a reply sent while
    /// the link was down comes late or never.
    ///
    /// A transfer that is still looking up a name or connecting starts over. So does a transfer whose connection is
    /// retransmitting: TCP waits longer each time, and would go on waiting in a restored network. Idle connections
    /// are not re-used. Everything else continues.
    ///
    /// - Parameters:
    ///   - goneAddresses: local addresses that no link has any more, in the notation of inet_ntop(3).
    ///   - returnedAddresses: local addresses whose link lost and regained its carrier.
    public func networkChanged(goneAddresses: Set<String> = [], returnedAddresses: Set<String> = []) {
        engine.networkChanged(NetworkNews(gone: goneAddresses, returned: returnedAddresses))
    }

    /// Changes the time limits of future transfers.
    ///
    /// - Parameters:
    ///   - stall: see ``Configuration/stallTimeout``.
    ///   - reply: see ``Configuration/replyTimeout``.
    public func setTimeouts(stall: Duration, reply: Duration) {
        engine.setTimeouts(stall: stall, reply: reply)
    }

    /// Fails every request with ``TransportError/cancelled``, closes all connections and waits for the thread to end.
    ///
    /// Later requests fail at once. Idempotent.
    public func shutdown() {
        engine.shutdown()
    }
}

/// Records the addresses of a host that a request was not allowed to use.
struct PeerLog {
    private var wasAllowed = false
    private var firstRefused: String?

    /// The first refused address if no address was allowed; nil otherwise, since an allowed address may have failed
    /// for another reason.
    var refused: String? { wasAllowed ? nil : firstRefused }

    /// Records the decision about an address.
    ///
    /// - Returns: `isAllowed`.
    mutating func note(_ address: String, isAllowed: Bool) -> Bool {
        if isAllowed {
            wasAllowed = true
        } else {
            firstRefused = firstRefused ?? address
        }
        return isAllowed
    }
}
