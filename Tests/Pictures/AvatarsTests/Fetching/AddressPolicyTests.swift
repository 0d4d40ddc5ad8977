import Testing

@testable import Avatars

struct AddressPolicyTests {
    private let strict = AddressPolicy(allowsPrivate: false)

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1",
        "169.254.0.1", "169.254.169.254", "168.63.129.16", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1",
        "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "febf::1", "fec0::1", "fc00::1",
        "fdff::1", "fd00:ec2::254", "ff02::1", "2001::1", "2001:db8::1", "2001:2::1", "3fff::1", "100::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1",
        "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "5f00::1", "", "example.org", "127.0.0.1 ",
        "1.2.3", "1.2.3.4.5", "::g",
    ])
    func `addresses that are not public are refused`(address: String) {
        #expect(!strict.allows(address))
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.255.255", "192.169.0.0",
        "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2001:200::1", "2001:4860:4860::8888",
        "2a00:1450::1", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1",
    ])
    func `public addresses are allowed`(address: String) {
        #expect(strict.allows(address))
    }

    @Test(arguments: [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "[::1]", "[::ffff:127.0.0.1]", "localhost",
        "localhost.", "a.localhost", "10.1", "[fe80::1]",
    ])
    func `hosts that name this machine or a private address are refused by their names`(host: String) {
        #expect(!strict.allows(host: host))
    }

    @Test(arguments: ["example.org", "localhost.example.org", "1.1.1.1", "[2606:4700::1111]", "notlocalhost"])
    func `other hosts are left to the check at connect time`(host: String) {
        #expect(strict.allows(host: host))
    }

    @Test func `everything is allowed where private addresses are`() {
        let open = AddressPolicy(allowsPrivate: true)
        #expect(open.allows("127.0.0.1"))
        #expect(open.allows("fe80::1"))
        #expect(open.allows(host: "localhost"))
    }
}
