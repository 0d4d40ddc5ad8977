import CLinux
import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import NetworkWatch

/// A fake system: the test supplies route messages, clocks and the surroundings that a look finds.
private final class Stage: RouteSource, Sendable {
    struct Refused: Error {}

    private struct State {
        var queue: [Received] = []
        var found = Surroundings(fibTrie: SurroundingsTests.fibTrie, ifInet6: "", route: "", ipv6Route: "")
        var slept: UInt64 = 0
        var clockReads = 0
        var changes: [NetworkChange] = []
        var troubles: [String] = []
    }

    private let state = Mutex(State())
    private let messages: SharedDescriptor
    private let clock: SharedDescriptor

    init() throws {
        messages = SharedDescriptor(Descriptor(owning: outbox_eventfd()))
        clock = SharedDescriptor(Descriptor(owning: outbox_eventfd()))
    }

    var descriptor: Int32 { messages.rawValue }
    var changes: [NetworkChange] { state.withLock { $0.changes } }
    var troubles: [String] { state.withLock { $0.troubles } }

    func receive() -> Received {
        var count: UInt64 = 0
        _ = eventfd_read(messages.rawValue, &count)
        return state.withLock { $0.queue.isEmpty ? .nothing : $0.queue.removeFirst() }
    }

    func deliver(_ received: Received...) {
        state.withLock { $0.queue += received }
        _ = eventfd_write(messages.rawValue, 1)
    }

    func find(_ surroundings: Surroundings) { state.withLock { $0.found = surroundings } }

    func jump(sleeping: UInt64) {
        state.withLock { $0.slept += sleeping }
        _ = eventfd_write(clock.rawValue, 1)
    }

    func watch(netlink: Bool = true, timer: Bool = true) throws -> NetworkWatch {
        let system = NetworkSystem(
            openRoutes: { [self] in
                if !netlink { throw Refused() }
                return self
            },
            openClock: { [clock] in
                if !timer { throw Refused() }
                return clock
            },
            drainClock: { clock in
                var count: UInt64 = 0
                _ = eventfd_read(clock.rawValue, &count)
            },
            look: { [self] in state.withLock { $0.found } },
            addressesOfLinks: { links in links == [3] ? [.four] : [] },
            clocks: { [self] in
                let slept = state.withLock { $0.slept }
                let now = ClockReading.now()
                return ClockReading(boot: now.monotonic + slept, monotonic: now.monotonic)
            },
            lookInterval: 20_000_000)
        let watch = try NetworkWatch(
            system: system, onTrouble: { [self] trouble in state.withLock { $0.troubles.append(trouble) } },
            onChange: { [self] change in state.withLock { $0.changes.append(change) } })
        watch.start()
        return watch
    }

    func waitForChange(_ number: Int = 1) async throws -> NetworkChange {
        try await Poll.value("change \(number)") { changes.count >= number ? changes[number - 1] : nil }
    }
}

@Suite("The watch of the network", .timeLimit(.minutes(2)))
struct WatchingTests {
    @Test("reports a burst once, with the addresses that are gone")
    func burst() async throws {
        let stage = try Stage()
        let watch = try stage.watch()
        defer { watch.stop() }
        stage.find(Surroundings(fibTrie: "", ifInet6: SurroundingsTests.ifInet6, route: "", ipv6Route: ""))
        stage.deliver(
            .datagram(Recordings.address6), .datagram(Recordings.address4Gone), .datagram(Recordings.defaultRoute))
        let change = try await stage.waitForChange()
        #expect(change == NetworkChange(causes: .network, goneAddresses: [.four]))
        #expect(stage.changes.count == 1)
        #expect(stage.troubles == [])
    }

    @Test("reports the addresses of a link that has its carrier again")
    func returned() async throws {
        let stage = try Stage()
        let watch = try stage.watch()
        defer { watch.stop() }
        stage.deliver(.datagram(Recordings.linkWithoutCarrier))
        #expect(try await stage.waitForChange() == NetworkChange(causes: .network))
        stage.deliver(.datagram(Recordings.linkRunning))
        #expect(
            try await stage.waitForChange(2) == NetworkChange(causes: .network, returnedAddresses: [.four]))
    }

    @Test("ignores messages after which all is as before")
    func noise() async throws {
        let stage = try Stage()
        let watch = try stage.watch()
        defer { watch.stop() }
        stage.deliver(
            .datagram(Recordings.address4Again), .datagram(Recordings.linkLocal6), .datagram(Recordings.loopbackUp),
            .datagram(Recordings.address4Gone), .datagram(Recordings.address4))
        stage.jump(sleeping: 5_000_000_000)
        // If the noise had counted, the change would have two causes.
        #expect(try await stage.waitForChange() == NetworkChange(causes: .resumed))
    }

    @Test("treats lost messages as a change, and looks up the remaining addresses")
    func overrun() async throws {
        let stage = try Stage()
        let watch = try stage.watch()
        defer { watch.stop() }
        stage.find(Surroundings(fibTrie: "", ifInet6: SurroundingsTests.ifInet6, route: "", ipv6Route: ""))
        stage.deliver(.overrun)
        let change = try await stage.waitForChange()
        #expect(change == NetworkChange(causes: .network, goneAddresses: [.four]))
    }

    @Test("treats a damaged message as a lost message")
    func damaged() async throws {
        let stage = try Stage()
        let watch = try stage.watch()
        defer { watch.stop() }
        stage.deliver(.datagram(Array(Recordings.address4.dropLast(3))))
        #expect(try await stage.waitForChange() == NetworkChange(causes: .network))
    }

    @Test("polls if netlink is unavailable, and reports that once")
    func fallback() async throws {
        let stage = try Stage()
        let watch = try stage.watch(netlink: false)
        defer { watch.stop() }
        #expect(stage.troubles.count == 1)
        stage.find(Surroundings(fibTrie: "", ifInet6: SurroundingsTests.ifInet6, route: "", ipv6Route: ""))
        let change = try await stage.waitForChange()
        #expect(change == NetworkChange(causes: .network, goneAddresses: [.four]))
        #expect(stage.troubles.count == 1)
    }

    @Test("distinguishes a sleep of the machine from a set clock")
    func clocks() async throws {
        let stage = try Stage()
        let watch = try stage.watch()
        defer { watch.stop() }
        stage.jump(sleeping: 0)
        #expect(try await stage.waitForChange() == NetworkChange(causes: .clockSet))
        stage.jump(sleeping: 60_000_000_000)
        #expect(try await stage.waitForChange(2) == NetworkChange(causes: .resumed))
    }

    @Test("works without a timer, and reports that once")
    func withoutTimer() async throws {
        let stage = try Stage()
        let watch = try stage.watch(timer: false)
        defer { watch.stop() }
        stage.find(Surroundings(fibTrie: "", ifInet6: SurroundingsTests.ifInet6, route: "", ipv6Route: ""))
        stage.deliver(.datagram(Recordings.address6))
        #expect(try await stage.waitForChange().causes == .network)
        #expect(stage.troubles.count == 1)
    }

    @Test("has a kernel timer that does not fire while the clock runs normally")
    func quietTimer() throws {
        let timer = SharedDescriptor(Descriptor(owning: try retryingOnInterrupt { outbox_clock_change_timer() }))
        var entry = pollfd(fd: timer.rawValue, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, 0) == 0)
    }
}
