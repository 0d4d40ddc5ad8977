/// Where a receiver stores, where it listens, and whom it lets in.
public struct ReceiverConfiguration: Sendable {
    /// The storage directory; created when missing.
    public var root: String
    /// The address to listen on.
    public var listen: ListenAddress
    /// What URLs begin with. Nil: the address listened on, or where that is 0.0.0.0 or ::, the `Host` of the request.
    public var publicURL: String?
    /// `token user` a line, or separated by commas.
    public var tokens: String?
    /// A file of such lines; `#` begins a comment. Read again when it changes.
    public var tokenFile: String?
    /// Bytes that stay free on the file system.
    public var freeSpaceFloor: Int64 = 512 << 20
    /// The largest file taken, in bytes.
    public var maximumFileSize: Int64 = 64 << 30
    /// Unfinished uploads one user may have.
    public var maximumOpenUploads = 10_000
    /// Bytes of finished and unfinished files one user may have; nil: any number.
    public var quota: Int64?
    /// The path of `outbox-media`, which draws small versions of pictures; nil: there are none.
    public var mediaWorker: String?
    /// Connections at a time.
    public var maximumConnections = 1000
    /// Connections at a time from one IPv4 address, or one IPv6 network of 64 bits.
    public var maximumConnectionsPerAddress = 200

    /// Whether what is confirmed is on the disk itself, or only with the kernel.
    public var synchronizes = true

    /// A configuration with the default limits, for loopback without tokens.
    public init(root: String, listen: ListenAddress = ListenAddress(host: "127.0.0.1", port: 8787)) {
        self.root = root
        self.listen = listen
    }
}

/// The receiver's version.
public enum ReceiverVersion {
    /// Semantic version, the same as the agent's.
    public static let current = "0.1.0"
}

/// A TCP address: `127.0.0.1:8787`, `[::1]:8787`, `localhost:0`.
public struct ListenAddress: Sendable, Equatable {
    /// A name or an address, without brackets.
    public let host: String
    /// 0 stands for any free port.
    public let port: Int

    /// An address from its parts.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Nil when `text` is not `host:port`, `[address]:port` or `:port`-less.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    /// Whether only this machine can reach it.
    var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// Whether it stands for all addresses of the machine.
    var isWildcard: Bool { IPAddress.bytes(host)?.allSatisfy { $0 == 0 } ?? false }

    var url: String { "http://\(self)" }
}

extension ListenAddress: CustomStringConvertible {
    /// As it is written: an IPv6 address in brackets.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
