import TestSupport
import Testing

@testable import NetworkWatch

@Suite("A route message of the kernel")
struct RouteMessageParserTests {
    private func messages(_ datagram: [UInt8]) -> [RouteMessage] {
        let result = RouteMessageParser.parse(datagram)
        #expect(!result.isDamaged)
        return result.messages
    }

    @Test(
        "is read from recorded bytes",
        arguments: [
            (Recordings.linkWithoutCarrier, RouteMessage.link(3, isRunning: false)),
            (Recordings.linkRunning, .link(3, isRunning: true)), (Recordings.linkGone, .linkGone(3)),
            (Recordings.address4, .address(.four, link: 3)), (Recordings.address4Gone, .addressGone(.four, link: 3)),
            (Recordings.address6, .address(.six, link: 3)), (Recordings.defaultRoute, .route(.usual)),
        ])
    func recorded(datagram: [UInt8], message: RouteMessage) {
        #expect(messages(datagram) == [message])
    }

    @Test(
        "is ignored if the address or route reaches nobody beyond the link",
        arguments: [
            Recordings.loopbackUp, Recordings.linkLocal6, Recordings.localRoute, Recordings.multicastRoute,
        ])
    func unimportant(datagram: [UInt8]) {
        #expect(messages(datagram) == [])
    }

    @Test("may share a datagram with other messages")
    func several() {
        #expect(
            messages(Recordings.address4 + Recordings.localRoute + Recordings.defaultRoute) == [
                .address(.four, link: 3), .route(.usual),
            ])
    }

    @Test("is ignored if it is a wireless driver's event, such as a scan")
    func wireless() {
        // IFLA_WIRELESS with four bytes, after the name.
        var datagram = Recordings.linkRunning + [8, 0, 11, 0, 1, 2, 3, 4]
        datagram[0] += 8
        #expect(messages(datagram) == [])
    }

    @Test("is ignored while its address is tentative")
    func tentative() {
        var datagram = Recordings.address6
        datagram[datagram.count - 4] |= 0x40
        #expect(messages(datagram) == [])
    }

    @Test("reports an address as gone that another machine has")
    func duplicate() {
        var datagram = Recordings.address6
        datagram[datagram.count - 4] |= 0x08
        #expect(messages(datagram) == [.addressGone(.six, link: 3)])
    }

    @Test("is damaged if the kernel reports an overrun")
    func overrun() {
        let overrun: [UInt8] = [16, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        #expect(RouteMessageParser.parse(overrun) == .init(messages: [], isDamaged: true))
    }

    @Test("is damaged if cut at any byte", arguments: Recordings.all)
    func truncated(datagram: [UInt8]) {
        for length in 1..<datagram.count {
            let result = RouteMessageParser.parse(Array(datagram.prefix(length)))
            #expect(result.isDamaged && result.messages.isEmpty, "\(length)")
        }
    }

    @Test(
        "with an impossible length is damaged and ends the parsing", arguments: [0, 1, 15, 0xFFFF_FFFF] as [UInt32])
    func hostileLength(length: UInt32) {
        var datagram = Recordings.address4
        withUnsafeBytes(of: length) { datagram.replaceSubrange(0..<4, with: $0) }
        #expect(RouteMessageParser.parse(datagram).isDamaged)
    }

    @Test("may consist of any bytes")
    func garbage() {
        var random = SeededRandom(seed: 20_260_101)
        for _ in 0..<20_000 {
            var datagram = Recordings.all.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                datagram[Int.random(in: datagram.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = RouteMessageParser.parse(datagram)
        }
    }
}
