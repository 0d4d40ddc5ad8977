import LinuxSystem

@testable import NetworkWatch

/// Datagrams of a route socket, recorded on Linux 6.1 while `ip` changed the network. Link messages end after the
/// first attribute; their length field is adjusted.
enum Recordings {
    /// `ip link set lo up`.
    static let loopbackUp = bytes(
        "280000001000000000000000000000000000040301000000490001000100000007000300" + "6c6f0000")
    /// `ip link set v0 up` while the peer v1 is down.
    static let linkWithoutCarrier = bytes(
        "28000000100000000000000000000000000001000300000003100000010000000700030076300000")
    /// `ip link set v1 up`: now v0 has a carrier.
    static let linkRunning = bytes(
        "28000000100000000000000000000000000001000300000043100100000000000700030076300000")
    /// `ip link del v0`.
    static let linkGone = bytes(
        "28000000110000000000000000000000000001000300000002100000ffffffff0700030076300000")
    /// `ip addr add 192.0.2.7/24 dev v0`.
    static let address4 = bytes(
        "4c00000014000000e5bb016b68160000021880000300000008000100c000020708000200c0000207070003007630000008000800"
            + "8000000014000600ffffffffffffffffce221400ce221400")
    /// A refresh of the same address.
    static let address4Again = bytes(
        "4c00000014000000e6bb016b93160000021880000300000008000100c000020708000200c0000207070003007630000008000800"
            + "8000000014000600ffffffffffffffffce221400ef221400")
    /// `ip addr del 192.0.2.7/24 dev v0`.
    static let address4Gone = bytes(
        "4c00000015000000e7bb016be3160000021880000300000008000100c000020708000200c0000207070003007630000008000800"
            + "8000000014000600ffffffffffffffffce221400ef221400")
    /// `ip addr add 2001:db8::7/64 dev v0 nodad`.
    static let address6 = bytes(
        "480000001400000000000000000000000a408200030000001400010020010db800000000000000000000000714000600"
            + "ffffffffffffffff34231400342314000800080082000000")
    /// The link-local address that the kernel assigns.
    static let linkLocal6 = bytes(
        "500000001400000000000000000000000a4080fd0200000014000100fe800000000000001443f7fffeb6c05e14000600"
            + "ffffffffffffffffad221400ad221400080008008000000005000b0003000000")
    /// `ip route add default via 192.0.2.1`.
    static let defaultRoute = bytes(
        "3400000018000006e6bb016baf16000002000000fe0300010000000008000f00fe00000008000500c00002010800040003000000")
    /// The local route that the kernel adds with an address.
    static let localRoute = bytes(
        "3c00000018000006000000000000000002200000ff02fe020000000008000f00ff00000008000100c000020708000700c0000207"
            + "0800040003000000")
    /// The multicast route of a link that comes up.
    static let multicastRoute = bytes(
        "740000001800000600000000000000000a080000ff0200050000000008000f00ff00000014000100ff0000000000000000000000"
            + "000000000800060000010000080004000200000024000c0000000000000000000000000000000000000000000000000000000000"
            + "000000000500140000000000")

    static let all = [
        loopbackUp, linkWithoutCarrier, linkRunning, linkGone, address4, address4Again, address4Gone, address6,
        linkLocal6, defaultRoute, localRoute, multicastRoute,
    ]

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        var rest = hexadecimal[...]
        var bytes: [UInt8] = []
        while let byte = UInt8(rest.prefix(2), radix: 16) {
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}

extension IPAddress {
    static let four = IPAddress(192, 0, 2, 7)
    static let other = IPAddress(198, 51, 100, 1)
    static let six = IPAddress(0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7)

    /// For tests only: an address of 4 or 16 bytes; 0.0.0.0 for any other count.
    init(_ bytes: UInt8...) {
        self = IPAddress(bytes: bytes) ?? IPAddress(0, 0, 0, 0)
    }
}
