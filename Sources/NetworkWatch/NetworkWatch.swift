import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// Notices that the network is another one, that the machine woke from sleep and that the clock was set: on a thread of
/// its own that sleeps until the kernel has something to tell.
///
/// Where netlink can't be had, addresses and routes are compared every 5 s instead, which is said once.
public final class NetworkWatch: Sendable {
    private let system: NetworkSystem
    private let stopping: SharedDescriptor
    private let onTrouble: @Sendable (String) -> Void
    private let onChange: @Sendable (NetworkChange) -> Void

    /// Prepares to watch.
    ///
    /// - Parameters:
    ///   - onTrouble: told, in one line and at most once for each kind, what can't be watched and what happens instead.
    ///   - onChange: told of changes, a burst of them as one; at most every 3 s. Both are called on the watch's thread.
    /// - Throws: `Errno` of eventfd(2).
    public convenience init(
        onTrouble: @escaping @Sendable (String) -> Void, onChange: @escaping @Sendable (NetworkChange) -> Void
    ) throws {
        try self.init(system: .real, onTrouble: onTrouble, onChange: onChange)
    }

    init(
        system: NetworkSystem, onTrouble: @escaping @Sendable (String) -> Void,
        onChange: @escaping @Sendable (NetworkChange) -> Void
    ) throws(Errno) {
        self.system = system
        self.onTrouble = onTrouble
        self.onChange = onChange
        stopping = SharedDescriptor(Descriptor(owning: try retryingOnInterrupt { outbox_eventfd() }))
    }

    /// Begins to watch; to be called once.
    public func start() {
        let loop = NetworkLoop(system: system, stopping: stopping, onTrouble: onTrouble, onChange: onChange)
        startThread(name: "network") { [loop] in loop.run() }
    }

    /// Ends the thread; a change that is being told is told to its end.
    public func stop() {
        // Fails only where the counter is full, and then the thread is told already.
        _ = eventfd_write(stopping.rawValue, 1)
    }
}

/// What the watch asks of the system, so that tests need none.
struct NetworkSystem: Sendable {
    /// Opens the source of messages; throws where there is none.
    var openRoutes: @Sendable () throws -> any RouteSource
    /// Opens what becomes readable when the wall clock jumps; throws where it can't be known.
    var openClock: @Sendable () throws -> SharedDescriptor
    /// Reads what the clock's descriptor has to tell, so that it is not readable any more.
    var drainClock: @Sendable (SharedDescriptor) -> Void
    /// Looks at addresses and routes.
    var look: @Sendable () -> Surroundings
    /// Looks which addresses these links have.
    var addressesOfLinks: @Sendable (Set<UInt32>) -> Set<IPAddress>
    /// Reads the clocks.
    var clocks: @Sendable () -> ClockReading
    /// How often to look where there are no messages.
    var lookInterval: UInt64

    static let real = NetworkSystem(
        openRoutes: { try RouteSocket() },
        openClock: {
            SharedDescriptor(Descriptor(owning: try retryingOnInterrupt { outbox_clock_change_timer() }))
        },
        drainClock: { timer in
            // Fails with ECANCELED, which is the message (man 2 timerfd_create).
            var expirations: UInt64 = 0
            _ = read(timer.rawValue, &expirations, MemoryLayout<UInt64>.size)
        },
        look: { Surroundings.look() },
        addressesOfLinks: { LinkAddresses.look($0) },
        clocks: { ClockReading.now() },
        lookInterval: 5_000_000_000)
}
