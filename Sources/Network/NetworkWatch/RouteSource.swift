import Glibc
import LinuxSystem
import SystemPackage

/// A source of messages about links, addresses and routes.
protocol RouteSource: Sendable {
    /// Becomes readable when a message waits.
    var descriptor: Int32 { get }

    /// Returns the next datagram; never blocks.
    func receive() -> Received
}

/// The result of one receive.
enum Received: Equatable, Sendable {
    case datagram([UInt8])
    /// Messages were lost: the kernel's buffer was full.
    case overrun
    case nothing
}

/// A netlink route socket (man 7 netlink).
final class RouteSocket: RouteSource {
    /// struct sockaddr_nl.
    private struct Address {
        var family = UInt16(AF_NETLINK)
        var padding: UInt16 = 0
        var port: UInt32 = 0
        var groups: UInt32 = 0
    }

    /// RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR, RTMGRP_IPV6_ROUTE (linux/rtnetlink.h).
    private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
    /// Enough for the longest messages, which describe a link with many virtual functions; in bytes.
    private static let longestDatagram = 64 << 10

    private let socket: Descriptor

    var descriptor: Int32 { socket.rawValue }

    /// Opens a socket that receives the kernel's messages from now on.
    ///
    /// - Throws: `Errno` of socket(2) or bind(2) if netlink is forbidden.
    init() throws(Errno) {
        let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        // NETLINK_ROUTE is 0.
        socket = Descriptor(owning: try retryingOnInterrupt { Glibc.socket(AF_NETLINK, kind, 0) })
        var address = Address(groups: Self.groups)
        let number = socket.rawValue
        try retryingOnInterrupt {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(number, $0, socklen_t(MemoryLayout<Address>.size))
                }
            }
        }
    }

    func receive() -> Received {
        while true {
            var sender = Address()
            var failure: Errno?
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.longestDatagram) { buffer, count in
                do throws(Errno) {
                    count = try read(into: buffer, from: &sender)
                } catch {
                    failure = error
                }
            }
            // ENOBUFS: the kernel dropped messages. Any other error means an empty socket.
            if let failure { return failure == .noBufferSpace ? .overrun : .nothing }
            // Other processes may write to this socket; only the kernel has port 0.
            if !bytes.isEmpty, sender.port == 0 { return .datagram(bytes) }
        }
    }

    private func read(into buffer: UnsafeMutableBufferPointer<UInt8>, from sender: inout Address) throws(Errno) -> Int {
        var length = socklen_t(MemoryLayout<Address>.size)
        let number = socket.rawValue
        return try retryingOnInterrupt {
            withUnsafeMutablePointer(to: &sender) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(number, buffer.baseAddress, buffer.count, 0, $0, &length)
                }
            }
        }
    }
}
