import CCurl
import Glibc

/// The sockets libcurl has open, idle connections included; touched by the transport's thread alone.
///
/// libcurl 7.88 tells the socket of a transfer only once it is over, but its local address and port at any time: these
/// find the socket here.
final class SocketRegistry {
    /// One end of a connection.
    struct Endpoint: Hashable {
        /// As inet_ntop(3) writes it, like libcurl.
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

    /// The sockets by their local end; those that are not bound yet are left out.
    func byLocalEndpoint() -> [Endpoint: Int32] {
        var found: [Endpoint: Int32] = [:]
        for descriptor in descriptors {
            if let endpoint = Self.localEndpoint(of: descriptor) { found[endpoint] = descriptor }
        }
        return found
    }

    /// Shuts every connection down but some. libcurl finds an idle one readable, hence dead, when it would use it again.
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
