import LinuxSystem
import Testing

@testable import NetworkWatch

@Suite("A message is a change")
struct NetworkPictureTests {
    /// Applies the messages in order and returns for each whether the picture changed.
    private func changes(_ messages: RouteMessage..., from addresses: Set<IPAddress> = []) -> [Bool] {
        var picture = NetworkPicture(addresses: addresses)
        return messages.map { picture.apply($0) }
    }

    @Test("when an address comes, not when it is refreshed")
    func addressOnce() {
        #expect(changes(.address(.four, link: 3), .address(.four, link: 3)) == [true, false])
    }

    @Test("but not when it repeats an address that a look found")
    func knownAddress() {
        #expect(changes(.address(.four, link: 3), from: [.four]) == [false])
    }

    @Test("when a known address goes, from a message or a look")
    func addressGoes() {
        #expect(changes(.addressGone(.four, link: 3), from: [.four]) == [true])
        #expect(changes(.address(.four, link: 3), .addressGone(.four, link: 3)) == [true, true])
        #expect(changes(.addressGone(.four, link: 3)) == [false])
    }

    @Test("when a link gets or loses its carrier, not when it reports statistics")
    func carrier() {
        #expect(
            changes(
                .link(3, isRunning: true), .link(3, isRunning: true), .link(3, isRunning: false), .linkGone(3))
                == [true, false, true, false])
    }

    @Test("when the first message about a link reports a lost carrier")
    func firstOfLink() {
        #expect(changes(.link(3, isRunning: false)) == [true])
    }

    @Test("when a route comes or goes, not when it is refreshed")
    func route() {
        #expect(changes(.route(.usual), .route(.usual), .routeGone(.usual)) == [true, false, true])
    }

    @Test("when a route returns that the kernel removed silently with its address or link")
    func silentRoute() {
        #expect(
            changes(.route(.usual), .addressGone(.four, link: 3), .route(.usual), from: [.four]) == [true, true, true])
        #expect(changes(.route(.usual), .linkGone(3), .route(.usual)) == [true, true, true])
        #expect(changes(.route(.usual), .linkGone(4), .route(.usual)) == [true, true, false])
    }

    @Test("and a link that lost its carrier returns once")
    func returned() {
        for (messages, expected) in [
            ([], []),
            // A new link has not returned: no transfer used it before.
            ([.link(3, isRunning: true)], []),
            ([.link(3, isRunning: false), .link(3, isRunning: true)], [3]),
            ([.link(3, isRunning: false), .link(4, isRunning: true)], []),
            ([.link(3, isRunning: false), .link(3, isRunning: true), .link(3, isRunning: false)], []),
            ([.link(3, isRunning: false), .link(3, isRunning: true), .linkGone(3)], []),
            ([.link(3, isRunning: false), .linkGone(3), .link(3, isRunning: true)], []),
        ] as [([RouteMessage], Set<UInt32>)] {
            var picture = NetworkPicture(addresses: [])
            for message in messages { _ = picture.apply(message) }
            #expect([picture.takeReturnedLinks(), picture.takeReturnedLinks()] == [expected, []], "\(messages)")
        }
    }

    @Test("and an address of two links stays until both links lose it")
    func twoLinks() {
        var picture = NetworkPicture(addresses: [])
        _ = picture.apply(.address(.four, link: 3))
        let isNews = picture.apply(.address(.four, link: 4))
        #expect(!isNews)
        _ = picture.apply(.addressGone(.four, link: 3))
        #expect(picture.allAddresses == [.four])
        _ = picture.apply(.addressGone(.four, link: 4))
        #expect(picture.allAddresses == [])
    }
}

@Suite("A burst of changes")
struct ChangeSettlingTests {
    private static let start: UInt64 = 1_000_000_000_000
    private func at(_ milliseconds: UInt64) -> UInt64 { Self.start + milliseconds * 1_000_000 }

    @Test("is one event, half a second after the last")
    func quiet() {
        var settling = ChangeSettling()
        settling.note(at: at(0))
        settling.note(at: at(300))
        #expect(settling.deadline == at(800))
        #expect([799, 800, 5000].map { settling.tell(at: at($0)) } == [false, true, false])
        #expect(settling.deadline == nil)
    }

    @Test("without end is reported two seconds after the first change")
    func longest() {
        var settling = ChangeSettling()
        for step in 0...19 { settling.note(at: at(UInt64(step) * 100)) }
        #expect(settling.deadline == at(2000))
    }

    @Test("is reported at least three seconds after the previous burst")
    func spacing() {
        var settling = ChangeSettling()
        settling.note(at: at(0))
        _ = settling.tell(at: at(500))
        settling.note(at: at(600))
        #expect(settling.deadline == at(3500))
    }

    @Test("from a network that comes and goes causes at most 20 events a minute")
    func noHotLoop() {
        var settling = ChangeSettling()
        var events = 0
        for step in 0..<6000 {
            let now = at(UInt64(step) * 10)
            settling.note(at: now)
            if settling.tell(at: now) { events += 1 }
        }
        #expect((15...20).contains(events))
    }
}

@Suite("A jump of the wall clock")
struct ClockReadingTests {
    private static let before = ClockReading(boot: 100_000_000_000, monotonic: 90_000_000_000)

    @Test("is a sleep if only the boot-time clock advanced")
    func resumed() {
        let after = ClockReading(boot: 160_000_000_000, monotonic: 91_000_000_000)
        #expect(after.cause(since: Self.before) == .resumed)
    }

    @Test("is a set clock if both other clocks advanced alike")
    func clockSet() {
        let after = ClockReading(boot: 160_000_000_900, monotonic: 150_000_000_000)
        #expect(after.cause(since: Self.before) == .clockSet)
    }

    @Test("is described in words")
    func words() {
        let change = NetworkChange(causes: [.resumed, .network], goneAddresses: [.four, .six])
        #expect(
            change.description == "the network changed; the machine woke from sleep; gone: 192.0.2.7, 2001:db8::7")
        #expect(
            NetworkChange(causes: .network, returnedAddresses: [.four]).description
                == "the network changed; back: 192.0.2.7")
    }
}
