import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// Stream sockets with a path (man 7 unix).
enum UnixSocket {
    /// Connects to the listener on a path. Blocks only if the listener's queue is full.
    ///
    /// - Throws: `.connectionRefused` if nobody listens, `.noSuchFileOrDirectory` if there is no socket,
    ///   `.fileNameTooLong` for a path over 107 bytes, or another `Errno` of connect(2).
    static func connect(to path: String) throws(Errno) -> Descriptor {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { throw .fileNameTooLong }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = Descriptor(
            owning: try retryingOnInterrupt {
                Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            })
        try retryingOnInterrupt {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor.rawValue, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        return descriptor
    }

    /// Returns the user of the listening program at the time it began to listen, for a connected socket.
    ///
    /// - Throws: `Errno` of getsockopt(2).
    static func listener(of socket: borrowing Descriptor) throws(Errno) -> UInt32 {
        let number = socket.rawValue
        var peer = outbox_peer()
        try retryingOnInterrupt { outbox_peer_of(number, &peer) }
        return peer.user
    }
}
