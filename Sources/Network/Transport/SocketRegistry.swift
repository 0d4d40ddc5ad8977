import CCurl
import Glibc

/// libcurl's open sockets, idle connections included; used only by the transport's thread.
///
/// libcurl 7.88 reports a transfer's socket only after the transfer, but its local address and port at any time. The
/// registry finds the socket by local address and port.
final class SocketRegistry {
    /// One end of a connection.
    struct Endpoint: Hashable {
        /// In the notation of inet_ntop(3), like libcurl.
        let address: String
        let port: Int
    }

    private var descriptors: Set<Int32> = []

    func opened(_ descriptor: Int32) {
        descriptors.insert(descriptor)
    }

    func close(_ descriptor: Int32) -> Int32 {
        descriptors.remove(descriptor)
        return Glibc.close(descriptor)
    }

    /// Returns the sockets by their local end, without unbound sockets.
    func byLocalEndpoint() -> [Endpoint: Int32] {
        var found: [Endpoint: Int32] = [:]
        for descriptor in descriptors {
            if let endpoint = Self.localEndpoint(of: descriptor) { found[endpoint] = descriptor }
        }
        return found
    }

    /// Shuts down all connections except the given ones. libcurl finds a shut-down idle connection readable, treats
    /// it as dead, and does not re-use it.
    func shutDown(except used: Set<Endpoint>) {
        for (endpoint, descriptor) in byLocalEndpoint() where !used.contains(endpoint) {
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }

    private static func localEndpoint(of descriptor: Int32) -> Endpoint? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            let port = outbox_local_address(descriptor, text.baseAddress, UInt32(text.count))
            guard port > 0, let start = text.baseAddress else { return nil }
            return Endpoint(address: String(cString: start), port: Int(port))
        }
    }
}
