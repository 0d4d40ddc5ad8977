/// The settings of a receiver: storage, addresses, tokens and limits.
public struct ReceiverConfiguration: Sendable {
    /// The storage directory; created when missing.
    var root: String
    /// The address to listen on.
    var listen: ListenAddress
    /// The prefix of URLs. Nil: the listen address, or the `Host` of the request if that address is 0.0.0.0 or ::.
    public var publicURL: String?
    /// Entries `token user` or `token user quota=50GiB`, separated by line breaks or commas.
    public var tokens: String?
    /// A file with such entries; `#` begins a comment. Reloaded when the file changes.
    public var tokenFile: String?
    /// A file with entries `token name` for programs that read `/metrics`. Nil: only a receiver without tokens shows them.
    public var metricsTokenFile: String?
    /// The bytes that stay free on the file system.
    public var freeSpaceFloor: Int64 = 512 << 20
    /// The largest accepted file, in bytes.
    public var maximumFileSize: Int64 = 64 << 30
    /// The most unfinished uploads per user.
    public var maximumOpenUploads = 10_000
    /// The most bytes of finished and unfinished files per user; nil: no limit. A quota in a user's entry replaces this
    /// one for that user.
    public var quota: Int64?
    /// The path of `outbox-media`, which draws small versions of pictures; nil: no small versions.
    public var mediaWorker: String?
    /// The most simultaneous connections.
    var maximumConnections = 1000
    /// The most simultaneous connections from one IPv4 address, or from one IPv6 network of 64 bits.
    public var maximumConnectionsPerAddress = 200

    /// Whether the receiver confirms content only once the disk has it, not just the kernel.
    public var synchronizes = true

    /// A configuration with the default limits, for loopback without tokens.
    public init(root: String, listen: ListenAddress = ListenAddress(host: "127.0.0.1", port: 8787)) {
        self.root = root
        self.listen = listen
    }

    /// Lowers the number of connections to what a limit on open descriptors allows: each connection may open a file too.
    /// Without a free descriptor the receiver could neither accept connections nor open files.
    ///
    /// - Throws: ``StartFailure/configuration(_:)`` if too few descriptors remain to serve anybody.
    public mutating func limitConnections(forDescriptors limit: Int) throws(StartFailure) {
        let connections = (limit - Self.ownDescriptors) / 2
        guard connections >= Self.fewestConnections else {
            throw .configuration(
                "the receiver needs \(Self.ownDescriptors + 2 * Self.fewestConnections) descriptors, and `ulimit -n` is "
                    + "\(limit) (RLIMIT_NOFILE); raise it, or LimitNOFILE= of the service")
        }
        maximumConnections = min(maximumConnections, connections)
    }

    /// The journal, the storage's directories, the event loops and the media worker, with a reserve.
    private static let ownDescriptors = 64
    private static let fewestConnections = 16
}
