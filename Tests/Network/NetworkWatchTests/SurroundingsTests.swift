import Testing

@testable import NetworkWatch

@Suite("Looking at /proc/net")
struct SurroundingsTests {
    static let fibTrie = """
        Main:
          +-- 0.0.0.0/0 3 0 5
             |-- 0.0.0.0
                /0 universe UNICAST
             +-- 127.0.0.0/31 1 0 0
                |-- 127.0.0.1
                   /32 host LOCAL
             +-- 192.0.2.0/24 2 0 2
                |-- 192.0.2.0
                   /24 link UNICAST
                |-- 192.0.2.7
                   /32 host LOCAL
                |-- 192.0.2.255
                   /32 link BROADCAST
        """
    static let ifInet6 = """
        fe8000000000000000fc00fffe000001 04 40 20 80     eth0
        00000000000000000000000000000001 01 80 10 80       lo
        20010db8000000000000000000000007 04 40 00 82     eth0
        20010db8000000000000000000000008 04 40 00 c0     eth0
        """
    static let route = """
        Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
        eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
        """
    static let ipv6Route = """
        fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000002 00000000 00000001     eth0
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 20010db8000000000000000000000001 00000400 00000002 00000000 00000003     eth0
        20010db8000000000000000000000007 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000002 00000000 80200001     eth0
        """

    private func surroundings(ifInet6: String = Self.ifInet6, route: String = Self.route) -> Surroundings {
        Surroundings(fibTrie: Self.fibTrie, ifInet6: ifInet6, route: route, ipv6Route: Self.ipv6Route)
    }

    @Test("finds the usable addresses that reach beyond the link")
    func addresses() {
        #expect(surroundings().addresses == [.four, .six])
    }

    @Test("finds the routes to other networks")
    func routes() {
        #expect(surroundings().routes.count == 2)
    }

    @Test("ignores counters that grow")
    func counters() {
        let later = Self.route.replacing("\t0003\t0\t0\t", with: "\t0003\t7\t99\t")
        #expect(surroundings(route: later) == surroundings())
    }

    @Test("sees that the default route is gone")
    func routeGone() {
        #expect(surroundings(route: "Iface\tDestination\n") != surroundings())
    }

    @Test("finds no address in nonsense", arguments: ["", "\n\n", "zz 1", "|-- 1.2.3\n/32 host LOCAL", "\u{0}\u{1}"])
    func nonsense(text: String) {
        let found = Surroundings(fibTrie: text, ifInet6: text, route: text, ipv6Route: text)
        #expect(found.addresses.isEmpty)
    }

    @Test("works on this machine")
    func here() {
        // Two consecutive looks find the same addresses.
        #expect(Surroundings.look().addresses == Surroundings.look().addresses)
    }
}
