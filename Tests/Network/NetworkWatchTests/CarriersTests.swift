import TestSupport
import Testing

@testable import NetworkWatch

@Suite("The carriers of links")
struct CarriersTests {
    private func check(_ isRead: Bool) { #expect(isRead) }

    private func returned(_ datagrams: [UInt8]...) -> Set<UInt32> {
        var carriers = Carriers()
        for datagram in datagrams { check(carriers.read(datagram)) }
        return carriers.takeReturned()
    }

    @Test("return after they were lost")
    func lostAndBack() {
        #expect(returned(Recordings.linkWithoutCarrier, Recordings.linkRunning) == [3])
        #expect(returned(Recordings.linkRunning, Recordings.linkRunning) == [])
        #expect(returned(Recordings.linkRunning, Recordings.linkWithoutCarrier) == [])
        #expect(returned(Recordings.linkWithoutCarrier, Recordings.linkRunning, Recordings.linkWithoutCarrier) == [])
        #expect(returned(Recordings.linkWithoutCarrier, Recordings.linkGone, Recordings.linkRunning) == [])
    }

    @Test("return once")
    func once() {
        var carriers = Carriers()
        check(carriers.read(Recordings.linkWithoutCarrier + Recordings.defaultRoute + Recordings.linkRunning))
        let (first, second) = (carriers.takeReturned(), carriers.takeReturned())
        #expect(first == [3] && second == [])
    }

    @Test("are not told by messages about anything else")
    func others() {
        var carriers = Carriers()
        for datagram in [
            Recordings.loopbackUp, Recordings.address4, Recordings.address6, Recordings.defaultRoute,
            Recordings.localRoute, Recordings.multicastRoute,
        ] {
            check(carriers.read(datagram))
        }
        #expect(carriers == Carriers())
    }

    @Test("are unknown after a message that is cut at any byte", arguments: Recordings.all)
    func truncated(datagram: [UInt8]) {
        for length in 1..<datagram.count {
            var carriers = Carriers()
            check(!carriers.read(Array(datagram.prefix(length))))
            #expect(carriers == Carriers())
        }
    }

    @Test("may be told by any bytes")
    func garbage() {
        var random = SeededRandom(seed: 20_260_101)
        var carriers = Carriers()
        for _ in 0..<20_000 {
            var datagram = Recordings.all.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                datagram[Int.random(in: datagram.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = carriers.read(datagram)
        }
    }
}
