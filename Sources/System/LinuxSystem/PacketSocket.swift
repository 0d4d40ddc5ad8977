import Glibc
public import SystemPackage

/// One packet of a `SOCK_SEQPACKET` socket, with the descriptors sent along (man 7 unix, SCM_RIGHTS).
public struct DescriptorPacket: Sendable {
    /// The maximum number of descriptors in a packet.
    public static let mostDescriptors = 4

    /// The packet's bytes, truncated at the reader's limit.
    public var bytes: [UInt8]
    /// The descriptors, close-on-exec.
    public var descriptors: [SharedDescriptor]
    /// Whether bytes or descriptors beyond the limits were dropped (MSG_TRUNC, MSG_CTRUNC).
    public var isCut: Bool

    /// Sends a packet, with descriptors for which the receiver gets copies (man 2 sendmsg). Never raises SIGPIPE.
    ///
    /// - Parameters:
    ///   - bytes: at least one byte: an empty packet looks like the end of the connection.
    ///   - descriptors: at most ``mostDescriptors``.
    ///   - socket: a connected `SOCK_SEQPACKET` socket of the Unix domain.
    /// - Throws: `Errno`; `.brokenPipe` or `.connectionReset` if the other end is closed.
    public static func send(
        _ bytes: [UInt8], with descriptors: [SharedDescriptor] = [], to socket: Int32
    ) throws(Errno) {
        if bytes.isEmpty || descriptors.count > mostDescriptors { throw .invalidArgument }
        var body = bytes
        var control = ControlMessage()
        control.put(descriptors.map(\.rawValue))
        try retryingOnInterrupt {
            withHeader(&body, &control) { sendmsg(socket, &$0, Int32(MSG_NOSIGNAL)) }
        }
    }

    /// Receives a packet; waits for a packet if the socket is blocking (man 2 recvmsg).
    ///
    /// - Parameters:
    ///   - socket: a connected `SOCK_SEQPACKET` socket of the Unix domain.
    ///   - longest: maximum number of bytes; the rest of the packet is dropped.
    /// - Returns: nil if the other end is closed.
    /// - Throws: `Errno` of recvmsg(2).
    public static func receive(from socket: Int32, longest: Int) throws(Errno) -> DescriptorPacket? {
        var body = [UInt8](repeating: 0, count: longest)
        var control = ControlMessage()
        var flags: Int32 = 0
        let count = try retryingOnInterrupt {
            control.length = ControlMessage.capacity
            return withHeader(&body, &control) { header in
                let count = recvmsg(socket, &header, Int32(MSG_CMSG_CLOEXEC))
                flags = header.msg_flags
                return count
            }
        }
        let descriptors = control.descriptors.map { SharedDescriptor(Descriptor(owning: $0)) }
        if count == 0 { return nil }
        let isCut = flags & Int32(MSG_TRUNC | MSG_CTRUNC) != 0
        return DescriptorPacket(bytes: Array(body.prefix(count)), descriptors: descriptors, isCut: isCut)
    }

    /// Calls `call` with a header over these buffers, and stores the resulting length in the control message.
    private static func withHeader(
        _ body: inout [UInt8], _ control: inout ControlMessage, _ call: (inout msghdr) -> Int
    ) -> Int {
        var length = control.length
        let count = body.withUnsafeMutableBytes { body in
            control.words.withUnsafeMutableBytes { words in
                var part = iovec(iov_base: body.baseAddress, iov_len: body.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var header = msghdr()
                    header.msg_iov = part
                    header.msg_iovlen = 1
                    header.msg_control = length == 0 ? nil : words.baseAddress
                    header.msg_controllen = length
                    let count = call(&header)
                    length = count < 0 ? 0 : header.msg_controllen
                    return count
                }
            }
        }
        control.length = length
        return count
    }
}

/// The only control message of a packet: a `cmsghdr` and its descriptors, aligned as the kernel requires (man 3
/// cmsg).
private struct ControlMessage {
    private static let headerLength = MemoryLayout<cmsghdr>.size
    static let capacity = headerLength + DescriptorPacket.mostDescriptors * MemoryLayout<Int32>.size

    var words = [UInt64](repeating: 0, count: (capacity + 7) / 8)
    /// Bytes of `words` in use.
    var length = 0

    mutating func put(_ descriptors: [Int32]) {
        if descriptors.isEmpty { return }
        length = Self.headerLength + descriptors.count * MemoryLayout<Int32>.size
        var header = cmsghdr()
        header.cmsg_len = length
        header.cmsg_level = SOL_SOCKET
        header.cmsg_type = Int32(SCM_RIGHTS)
        words.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: header, as: cmsghdr.self)
            for (index, descriptor) in descriptors.enumerated() {
                let offset = Self.headerLength + index * MemoryLayout<Int32>.size
                bytes.storeBytes(of: descriptor, toByteOffset: offset, as: Int32.self)
            }
        }
    }

    var descriptors: [Int32] {
        if length < Self.headerLength { return [] }
        return words.withUnsafeBytes { bytes in
            let header = bytes.load(as: cmsghdr.self)
            guard header.cmsg_level == SOL_SOCKET, header.cmsg_type == Int32(SCM_RIGHTS) else { return [] }
            let end = min(length, Int(header.cmsg_len))
            return stride(from: Self.headerLength, to: end, by: MemoryLayout<Int32>.size).map {
                bytes.load(fromByteOffset: $0, as: Int32.self)
            }
        }
    }
}
