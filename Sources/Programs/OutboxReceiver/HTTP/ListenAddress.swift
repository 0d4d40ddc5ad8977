import NIOCore
import SystemPackage

/// A TCP address: `127.0.0.1:8787`, `[::1]:8787`, `localhost:0`.
///
/// `localhost` becomes 127.0.0.1: clients take the name for `[::1]` first, where another user may listen for tokens.
public struct ListenAddress: Sendable, Equatable {
    /// A name or an address, without brackets.
    let host: String
    /// The port; 0 for any free port.
    let port: Int

    /// An address from its parts.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port` or `[address]:port`. Returns nil if `text` has another form or no port.
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
        self.init(host: host.lowercased() == "localhost" ? "127.0.0.1" : String(host), port: port)
    }

    /// Whether only this machine can reach the address.
    var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// Whether the address is a wildcard for all addresses of the machine.
    var isWildcard: Bool { IPAddress.bytes(host)?.allSatisfy { $0 == 0 } ?? false }

    var url: String { "http://\(self)" }
}

extension ListenAddress: CustomStringConvertible {
    /// The address as text, an IPv6 address in brackets.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension StartFailure {
    /// Returns nil if the error is unrelated to the address.
    init?(_ error: any Error, listeningOn address: ListenAddress) {
        let reason: String
        let advice: String
        switch error {
        case let error as IOError:
            let code = Errno(rawValue: error.errnoCode)
            reason = "\(code)"
            advice = Self.advice(code)
        case let error as SocketAddressError.UnknownHost:
            reason = error.errorDescription
            advice = "give --listen an address of this machine"
        default: return nil
        }
        let start = reason.prefix(1).lowercased() + reason.dropFirst()
        self = .cannotCreate("cannot listen on \(address): \(start); \(advice)")
    }

    private static func advice(_ code: Errno) -> String {
        switch code {
        case .addressInUse: "stop the other program or choose another --listen"
        case .permissionDenied, .notPermitted: "choose a port of 1024 or above for --listen"
        case .addressNotAvailable: "give --listen an address of this machine"
        default: "choose another --listen"
        }
    }
}
