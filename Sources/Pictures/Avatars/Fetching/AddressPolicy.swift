import Glibc
import LinuxSystem
import URLs

/// The addresses pictures may be fetched from: those of the public internet, unless private ones are allowed.
///
/// A URL may come from anyone, and the agent runs inside a network that trusts it. Without this policy, a picture's
/// URL could make the agent contact a router or a cloud's metadata service.
public struct AddressPolicy: Equatable, Sendable {
    /// Whether all addresses are allowed.
    public var allowsPrivate: Bool

    /// Creates a policy.
    public init(allowsPrivate: Bool) {
        self.allowsPrivate = allowsPrivate
    }

    /// Whether a connection to an address is allowed.
    ///
    /// - Parameter address: The form of inet_ntop(3); anything else is refused.
    public func allows(_ address: String) -> Bool {
        allowsPrivate || IPAddress(address).map { Self.isPublic($0.bytes) } ?? false
    }

    /// Whether the host of a URL is allowed, as far as its name shows: a name other than `localhost`, or an allowed
    /// address in any form inet_aton(3) reads (`0x7f.1`, `2130706433`).
    ///
    /// The addresses of a name are checked at connection time. Through a proxy, only this check of the name is
    /// possible.
    public func allows(host: String) -> Bool {
        if allowsPrivate { return true }
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        if let literal = Self.literal(name) { return Self.isPublic(literal) }
        return name != "localhost" && !name.hasSuffix(".localhost")
    }

    private static func literal(_ host: String) -> [UInt8]? {
        var four = in_addr()
        if inet_aton(host, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
        return HostName.address(host[...])?.bytes
    }

    private static func isPublic(_ address: [UInt8]) -> Bool {
        if address.count == 4 { return !specialNetworks4.contains { $0.contains(address) } }
        // An embedded IPv4 address is judged as IPv4.
        for network in translations where network.prefix.contains(address) {
            return isPublic(Array(address[network.offset..<network.offset + 4]))
        }
        return globalUnicast.contains(address) && !specialNetworks6.contains { $0.contains(address) }
    }

    /// A network: the first bits of an address.
    private struct Network {
        let start: [UInt8]
        let length: Int

        init(_ start: [UInt8], _ length: Int) {
            self.start = start
            self.length = length
        }

        func contains(_ address: [UInt8]) -> Bool {
            (0..<length).allSatisfy { bit in
                let mask = UInt8(0x80) >> UInt8(bit % 8)
                let expected = bit / 8 < start.count ? start[bit / 8] & mask : 0
                return address[bit / 8] & mask == expected
            }
        }
    }

    /// IANA IPv4 Special-Purpose Address Registry (RFC 6890), and multicast.
    private static let specialNetworks4 = [
        Network([0], 8),  // "this network"; 0.0.0.0 connects to this machine
        Network([10], 8),  // private, RFC 1918
        Network([100, 64], 10),  // shared by carriers, RFC 6598
        Network([127], 8),  // loopback
        Network([169, 254], 16),  // link-local, RFC 3927; 169.254.169.254 is where clouds keep metadata
        Network([168, 63, 129, 16], 32),  // public, but where Azure's machines find their host and its metadata
        Network([172, 16], 12),  // private, RFC 1918
        Network([192, 0, 0], 24),  // protocol assignments, RFC 6890
        Network([192, 0, 2], 24),  // documentation, RFC 5737
        Network([192, 88, 99], 24),  // relays of 6to4, RFC 7526
        Network([192, 168], 16),  // private, RFC 1918
        Network([198, 18], 15),  // benchmarks, RFC 2544
        Network([198, 51, 100], 24),  // documentation, RFC 5737
        Network([203, 0, 113], 24),  // documentation, RFC 5737
        Network([224], 4),  // multicast, RFC 5771
        Network([240], 4),  // reserved, RFC 1112, and 255.255.255.255, broadcast
    ]

    /// Today's global unicast addresses (RFC 4291, section 2.4). Loopback, unspecified, link-local fe80::/10, unique
    /// local fc00::/7 and multicast ff00::/8 are all outside.
    private static let globalUnicast = Network([0x20], 3)

    /// IANA IPv6 Special-Purpose Address Registry, within global unicast.
    private static let specialNetworks6 = [
        Network([0x20, 0x01], 23),  // protocol assignments, RFC 2928: Teredo, benchmarks, ORCHID
        Network([0x20, 0x01, 0x0D, 0xB8], 32),  // documentation, RFC 3849
        Network([0x3F, 0xFF], 20),  // documentation, RFC 9637
    ]

    /// Networks whose addresses contain an IPv4 address, with its offset in bytes.
    private static let translations: [(prefix: Network, offset: Int)] = [
        (Network([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96), 12),  // ::ffff:0:0/96, mapped, RFC 4291
        (Network([0, 0x64, 0xFF, 0x9B], 96), 12),  // 64:ff9b::/96, NAT64, RFC 6052
        (Network([0x20, 0x02], 16), 2),  // 2002::/16, 6to4, RFC 3056
    ]
}
