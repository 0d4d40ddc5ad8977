import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// Reports changes of the network, wake-ups from sleep, and settings of the clock. A dedicated thread sleeps until
/// the kernel reports a change.
///
/// Without netlink, the thread compares addresses and routes every 5 s instead, and reports this limitation once.
public final class NetworkWatch: Sendable {
    private let system: NetworkSystem
    private let stopping: SharedDescriptor
    private let onTrouble: @Sendable (String) -> Void
    private let onChange: @Sendable (NetworkChange) -> Void

    /// Prepares a watch.
    ///
    /// - Parameters:
    ///   - onTrouble: receives one line, at most once for each kind: the part that cannot be watched and the
    ///     substitute.
    ///   - onChange: receives a burst of changes as one change, at most every 3 s. The watch thread calls both
    ///     closures.
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

    /// Starts watching; must be called only once.
    public func start() {
        let loop = NetworkLoop(system: system, stopping: stopping, onTrouble: onTrouble, onChange: onChange)
        startThread(name: "network") { [loop] in loop.run() }
    }

    /// Ends the thread; a running call of `onChange` completes.
    public func stop() {
        // Fails only if the counter is full, and then the thread has already been woken.
        _ = eventfd_write(stopping.rawValue, 1)
    }
}

/// The system calls of the watch, replaceable in tests.
struct NetworkSystem: Sendable {
    /// Opens the source of messages; throws if none is available.
    var openRoutes: @Sendable () throws -> any RouteSource
    /// Opens a descriptor that becomes readable when the wall clock jumps; throws if none is available.
    var openClock: @Sendable () throws -> SharedDescriptor
    /// Reads the clock's descriptor, so that it is no longer readable.
    var drainClock: @Sendable (SharedDescriptor) -> Void
    /// Reads addresses and routes.
    var look: @Sendable () -> Surroundings
    /// Returns the addresses of the given links.
    var addressesOfLinks: @Sendable (Set<UInt32>) -> Set<IPAddress>
    /// Reads the clocks.
    var clocks: @Sendable () -> ClockReading
    /// Nanoseconds between two looks if no messages are available.
    var lookInterval: UInt64

    static let real = NetworkSystem(
        openRoutes: { try RouteSocket() },
        openClock: {
            SharedDescriptor(Descriptor(owning: try retryingOnInterrupt { outbox_clock_change_timer() }))
        },
        drainClock: { timer in
            // Fails with ECANCELED, which reports the clock change (man 2 timerfd_create).
            var expirations: UInt64 = 0
            _ = read(timer.rawValue, &expirations, MemoryLayout<UInt64>.size)
        },
        look: { Surroundings.look() },
        addressesOfLinks: { LinkAddresses.look($0) },
        clocks: { ClockReading.now() },
        lookInterval: 5_000_000_000)
}
