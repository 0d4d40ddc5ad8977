/// The carriers of links, as the messages of a netlink route socket tell them (man 7 netlink, man 7 rtnetlink). A look at
/// the surroundings tells what else has changed.
struct Carriers: Equatable, Sendable {
    private var isRunning: [UInt32: Bool] = [:]
    private var returned: Set<UInt32> = []

    private static let headerLength = 16
    private static let newLink: UInt16 = 16
    private static let deletedLink: UInt16 = 17
    private static let bridgeFamily: UInt8 = 7
    private static let interfaceUp: UInt32 = 1 << 0
    private static let interfaceLoopback: UInt32 = 1 << 3
    private static let interfaceRunning: UInt32 = 1 << 6

    /// Reads a datagram, which holds one or several messages.
    ///
    /// - Returns: whether all could be read. An impossible length ends the reading.
    mutating func read(_ datagram: [UInt8]) -> Bool {
        datagram.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                guard bytes.count - offset >= Self.headerLength,
                    case let length = Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)),
                    length >= Self.headerLength, length <= bytes.count - offset
                else { return false }
                let type = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt16.self)
                let body = UnsafeRawBufferPointer(rebasing: bytes[(offset + Self.headerLength)..<(offset + length)])
                if type == Self.newLink || type == Self.deletedLink { read(body, isDeleted: type == Self.deletedLink) }
                // Messages begin at multiples of four bytes (NLMSG_ALIGN).
                offset += (length + 3) & ~3
            }
            return true
        }
    }

    /// Reads struct ifinfomsg.
    private mutating func read(_ body: UnsafeRawBufferPointer, isDeleted: Bool) {
        guard body.count >= 16 else { return }
        let link = body.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
        let flags = body.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
        // A bridge sends a message of its own family about its ports, in addition to the link's own message.
        guard body[0] != Self.bridgeFamily, flags & Self.interfaceLoopback == 0 else { return }
        if isDeleted {
            isRunning[link] = nil
            returned.remove(link)
            return
        }
        let runs = flags & Self.interfaceUp != 0 && flags & Self.interfaceRunning != 0
        let former = isRunning.updateValue(runs, forKey: link)
        if !runs { returned.remove(link) } else if former == false { returned.insert(link) }
    }

    /// Returns the links that lost and regained their carrier since the last call.
    mutating func takeReturned() -> Set<UInt32> {
        defer { returned = [] }
        return returned
    }
}
