import LinuxSystem

/// Parses the datagrams of a netlink route socket (man 7 netlink, man 7 rtnetlink). Does not trust the bytes: an
/// impossible length ends the parsing.
struct RouteMessageParser {
    /// The content of one datagram.
    struct Result: Equatable {
        var messages: [RouteMessage] = []
        /// Whether a part was unreadable, so that messages may be missing.
        var isDamaged = false
    }

    private static let headerLength = 16

    /// Parses one datagram with one or several messages.
    static func parse(_ datagram: [UInt8]) -> Result {
        var result = Result()
        var rest = Bytes(datagram[...])
        while !rest.isEmpty {
            guard let length = rest.uint32(at: 0), let kind = rest.uint16(at: 4), length >= headerLength,
                let message = rest.slice(0..<Int(length))
            else {
                result.isDamaged = true
                return result
            }
            read(kind: kind, message.dropping(headerLength), into: &result)
            rest = rest.dropping(aligned(Int(length)))
        }
        return result
    }

    private static func read(kind: UInt16, _ body: Bytes, into result: inout Result) {
        let message: RouteMessage?
        switch kind {
        // RTM_NEWLINK, RTM_DELLINK: struct ifinfomsg.
        case 16, 17: message = link(body, isGone: kind == 17, &result.isDamaged)
        // RTM_NEWADDR, RTM_DELADDR: struct ifaddrmsg.
        case 20, 21: message = address(body, isGone: kind == 21, &result.isDamaged)
        // RTM_NEWROUTE, RTM_DELROUTE: struct rtmsg.
        case 24, 25: message = route(body, isGone: kind == 25, &result.isDamaged)
        // NLMSG_OVERRUN: data lost.
        case 4:
            result.isDamaged = true
            return
        default: return
        }
        if let message { result.messages.append(message) }
    }

    // MARK: Links

    private static let interfaceLoopback: UInt32 = 1 << 3
    private static let interfaceUp: UInt32 = 1 << 0
    private static let interfaceRunning: UInt32 = 1 << 6
    private static let bridgeFamily: UInt8 = 7

    private static func link(_ body: Bytes, isGone: Bool, _ isDamaged: inout Bool) -> RouteMessage? {
        guard let family = body.byte(at: 0), let index = body.uint32(at: 4), let flags = body.uint32(at: 8) else {
            isDamaged = true
            return nil
        }
        // A bridge sends a message of its own family about its ports, in addition to the link's own message.
        guard family != bridgeFamily, flags & interfaceLoopback == 0 else { return nil }
        if isGone { return .linkGone(index) }
        // IFLA_WIRELESS: the end of a scan, or another event of the driver, without news about the link.
        let attributes = attributes(of: body, after: 16, &isDamaged)
        if attributes[11] != nil { return nil }
        return .link(index, isRunning: flags & interfaceUp != 0 && flags & interfaceRunning != 0)
    }

    // MARK: Addresses

    /// IFA_F_DADFAILED: another machine uses the same address.
    private static let duplicateAddress: UInt32 = 0x08
    /// IFA_F_TENTATIVE: duplicate address detection is still running.
    private static let tentativeAddress: UInt32 = 0x40

    private static func address(_ body: Bytes, isGone: Bool, _ isDamaged: inout Bool) -> RouteMessage? {
        guard let shortFlags = body.byte(at: 2), let index = body.uint32(at: 4) else {
            isDamaged = true
            return nil
        }
        let attributes = attributes(of: body, after: 8, &isDamaged)
        // IFA_LOCAL, else IFA_ADDRESS: on a point-to-point link IFA_ADDRESS is the other end's address.
        guard let bytes = attributes[2] ?? attributes[1], let address = IPAddress(bytes: bytes.all) else { return nil }
        if address.isLoopback || address.isLinkLocal { return nil }
        // IFA_FLAGS holds all flags, the header's byte only the first eight.
        let flags = attributes[8]?.uint32(at: 0) ?? UInt32(shortFlags)
        if isGone || flags & duplicateAddress != 0 { return .addressGone(address, link: index) }
        return flags & tentativeAddress == 0 ? .address(address, link: index) : nil
    }

    // MARK: Routes

    private static let unicast: UInt8 = 1
    private static let clonedRoute: UInt32 = 0x200
    private static let localTable: UInt32 = 255

    private static func route(_ body: Bytes, isGone: Bool, _ isDamaged: inout Bool) -> RouteMessage? {
        guard let family = body.byte(at: 0), let length = body.byte(at: 1), let shortTable = body.byte(at: 4),
            let kind = body.byte(at: 7), let flags = body.uint32(at: 8)
        else {
            isDamaged = true
            return nil
        }
        guard family == 2 || family == 10, kind == unicast, flags & clonedRoute == 0 else { return nil }
        let attributes = attributes(of: body, after: 12, &isDamaged)
        let table = attributes[15]?.uint32(at: 0) ?? UInt32(shortTable)
        let zero = [UInt8](repeating: 0, count: family == 2 ? 4 : 16)
        guard table != localTable, let destination = IPAddress(bytes: attributes[1]?.all ?? zero[...]) else {
            return nil
        }
        let isMulticast = destination.bytes.count == 16 && destination.bytes[0] == 0xFF
        if destination.isLinkLocal || destination.isLoopback || isMulticast { return nil }
        let route = Route(
            destination: destination, length: length, gateway: attributes[5].flatMap { IPAddress(bytes: $0.all) },
            link: attributes[4]?.uint32(at: 0) ?? 0, table: table, priority: attributes[6]?.uint32(at: 0) ?? 0)
        return isGone ? .routeGone(route) : .route(route)
    }

    // MARK: Attributes

    /// Returns the attributes (struct rtattr) after a message's own structure, the first of each kind.
    private static func attributes(of body: Bytes, after offset: Int, _ isDamaged: inout Bool) -> [UInt16: Bytes] {
        var found: [UInt16: Bytes] = [:]
        var rest = body.dropping(offset)
        while !rest.isEmpty {
            guard let length = rest.uint16(at: 0), let kind = rest.uint16(at: 2), length >= 4,
                let attribute = rest.slice(0..<Int(length))
            else {
                isDamaged = true
                return found
            }
            // The two upper bits are NLA_F_NESTED and NLA_F_NET_BYTEORDER.
            let plain = kind & 0x3FFF
            if found[plain] == nil { found[plain] = attribute.dropping(4) }
            rest = rest.dropping(aligned(Int(length)))
        }
        return found
    }

    /// NLMSG_ALIGN and RTA_ALIGN: messages and attributes begin at a multiple of four bytes.
    private static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

/// Bytes read with bounds checks; numbers in the machine's byte order.
struct Bytes {
    let all: ArraySlice<UInt8>

    init(_ all: ArraySlice<UInt8>) {
        self.all = all
    }

    var isEmpty: Bool { all.isEmpty }

    func byte(at offset: Int) -> UInt8? {
        offset < all.count ? all[all.startIndex + offset] : nil
    }

    func uint16(at offset: Int) -> UInt16? {
        number(at: offset)
    }

    func uint32(at offset: Int) -> UInt32? {
        number(at: offset)
    }

    func slice(_ range: Range<Int>) -> Bytes? {
        guard range.upperBound <= all.count else { return nil }
        return Bytes(all[(all.startIndex + range.lowerBound)..<(all.startIndex + range.upperBound)])
    }

    /// Returns the bytes after the first `count`; empty if there are fewer.
    func dropping(_ count: Int) -> Bytes { Bytes(all.dropFirst(count)) }

    private func number<Number: FixedWidthInteger>(at offset: Int) -> Number? {
        let size = MemoryLayout<Number>.size
        guard let bytes = slice(offset..<(offset + size)) else { return nil }
        return bytes.all.withUnsafeBytes { $0.loadUnaligned(as: Number.self) }
    }
}
