import Glibc
import LinuxSystem

/// The loop of the watch thread; used only by this thread once it runs.
///
/// `@unchecked`: created by one thread and handed to the other before that thread starts.
final class NetworkLoop: @unchecked Sendable {
    /// Maximum number of datagrams between two looks at the clock: a router's table may change without end.
    private static let mostAtOnce = 1000

    private let system: NetworkSystem
    private let stopping: SharedDescriptor
    private let onTrouble: @Sendable (String) -> Void
    private let onChange: @Sendable (NetworkChange) -> Void

    private var routes: (any RouteSource)?
    private var clock: SharedDescriptor?
    private var carriers = Carriers()
    private var areMessagesLost = false
    /// What was there at the last report.
    private var told: (surroundings: Surroundings, carriers: Carriers)
    private var reading: ClockReading
    private var nextLook: UInt64 = 0
    private var settling = ChangeSettling()
    private var causes: NetworkChange.Cause = []

    init(
        system: NetworkSystem, stopping: SharedDescriptor, onTrouble: @escaping @Sendable (String) -> Void,
        onChange: @escaping @Sendable (NetworkChange) -> Void
    ) {
        self.system = system
        self.stopping = stopping
        self.onTrouble = onTrouble
        self.onChange = onChange
        // Before the first look, so that no change in between is missed.
        do {
            routes = try system.openRoutes()
        } catch {
            let seconds = system.lookInterval / 1_000_000_000
            onTrouble(
                "network changes are noticed only every \(seconds) s, because netlink is unavailable (\(error)); "
                    + "allow AF_NETLINK sockets to notice them at once")
        }
        do {
            clock = try system.openClock()
        } catch {
            onTrouble("waking from sleep is noticed late, because timerfd is unavailable (\(error))")
        }
        told = (system.look(), carriers)
        reading = system.clocks()
    }

    func run() {
        nextLook = system.clocks().boot + system.lookInterval
        while true {
            var entries = [stopping.rawValue, routes?.descriptor ?? -1, clock?.rawValue ?? -1].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            _ = poll(&entries, nfds_t(entries.count), timeout(at: system.clocks().boot))
            if entries[0].revents != 0 { return }
            let now = system.clocks()
            if entries[2].revents != 0 { takeClock(at: now) }
            if let routes { take(from: routes, at: now.boot) } else { lookAgain(at: now.boot) }
            if settling.tell(at: now.boot) { report() }
        }
    }

    /// Maximum sleep in milliseconds, rounded up; -1 sleeps until the kernel reports a change.
    private func timeout(at now: UInt64) -> Int32 {
        let look = routes == nil ? nextLook : nil
        guard let deadline = [settling.deadline, look].compactMap(\.self).min() else { return -1 }
        return Int32(clamping: (max(deadline, now) - now + 999_999) / 1_000_000)
    }

    private func takeClock(at now: ClockReading) {
        guard let clock else { return }
        system.drainClock(clock)
        note(now.cause(since: reading), at: now.boot)
        reading = now
    }

    private func take(from routes: any RouteSource, at now: UInt64) {
        for _ in 0..<Self.mostAtOnce {
            switch routes.receive() {
            case .nothing: return
            case .overrun: areMessagesLost = true
            case .datagram(let bytes): if !carriers.read(bytes) { areMessagesLost = true }
            }
            note(.network, at: now)
        }
    }

    private func lookAgain(at now: UInt64) {
        guard now >= nextLook else { return }
        nextLook = now + system.lookInterval
        if system.look() != told.surroundings { note(.network, at: now) }
    }

    private func note(_ cause: NetworkChange.Cause, at now: UInt64) {
        causes.insert(cause)
        settling.note(at: now)
    }

    /// Reports what changed since the last report. A message may repeat what is known already.
    private func report() {
        let found = system.look()
        let returned = carriers.takeReturned()
        if found == told.surroundings, carriers == told.carriers, returned.isEmpty, !areMessagesLost {
            causes.remove(.network)
        }
        let gone = told.surroundings.addresses.subtracting(found.addresses)
        told = (found, carriers)
        areMessagesLost = false
        if causes.isEmpty { return }
        let change = NetworkChange(
            causes: causes, goneAddresses: gone,
            returnedAddresses: returned.isEmpty ? [] : system.addressesOfLinks(returned))
        causes = []
        onChange(change)
    }
}

/// Two clocks read together, to find out why the wall clock jumped.
struct ClockReading: Equatable, Sendable {
    /// CLOCK_BOOTTIME in nanoseconds, which continues during sleep.
    var boot: UInt64
    /// CLOCK_MONOTONIC in nanoseconds, which stops during sleep.
    var monotonic: UInt64

    /// Upper bound in nanoseconds for the time between the two reads.
    private static let slack: UInt64 = 1_000_000_000

    /// Reads the clocks (man 2 clock_gettime).
    static func now() -> ClockReading {
        ClockReading(boot: bootTimeNanoseconds(), monotonic: monotonicNanoseconds())
    }

    /// Returns why the wall clock jumped: a sleep since the earlier reading, or otherwise a program or user setting
    /// the clock.
    func cause(since earlier: ClockReading) -> NetworkChange.Cause {
        let slept = Int64(clamping: boot) - Int64(clamping: monotonic)
        let sleptBefore = Int64(clamping: earlier.boot) - Int64(clamping: earlier.monotonic)
        return slept - sleptBefore > Int64(Self.slack) ? .resumed : .clockSet
    }
}
