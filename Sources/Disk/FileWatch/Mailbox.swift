import CLinux
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage
import UploadCore

/// Commands from other threads to the watch thread.
final class Mailbox: Sendable {
    enum Command: Sendable {
        case rescan
        case reconsider(RelativePath)
        /// A file system that did not answer has done so.
        case answered
        case stop
    }

    private struct State {
        var isStarted = false
        var commands: [Command] = []
    }

    let wakeup: Wakeup
    private let state = Mutex(State())

    init() throws(Errno) {
        wakeup = try Wakeup()
    }

    /// Returns whether this is the first start.
    func markStarted() -> Bool {
        state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
    }

    func post(_ command: Command) {
        state.withLock { $0.commands.append(command) }
        wakeup.signal()
    }

    func take() -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }
}

/// Wakes a thread that sleeps in poll(2) (man 2 eventfd).
final class Wakeup: Sendable {
    private let descriptor: Descriptor

    var rawValue: Int32 { descriptor.rawValue }

    init() throws(Errno) {
        descriptor = Descriptor(owning: try retryingOnInterrupt { outbox_eventfd() })
    }

    /// Wakes the sleeper now, or as soon as it goes to sleep.
    func signal() {
        // Fails only if the counter is full, and then the sleeper is awake anyway.
        _ = eventfd_write(descriptor.rawValue, 1)
    }

    /// Sleeps until a signal, the timeout, or a change of mounts; consumes all pending signals.
    ///
    /// - Parameter timeout: rounded up to milliseconds; nil means no timeout.
    /// - Returns: whether mounts changed.
    func sleep(timeout: Duration?, mounts: MountMonitor) -> Bool {
        let milliseconds = timeout.map { max(0, ($0.wholeNanoseconds + 999_999) / 1_000_000) } ?? -1
        var entries = [
            pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0),
            pollfd(fd: mounts.rawValue, events: Int16(POLLPRI), revents: 0),
        ]
        _ = poll(&entries, nfds_t(entries.count), Int32(clamping: milliseconds))
        var count: UInt64 = 0
        _ = eventfd_read(descriptor.rawValue, &count)
        return entries[1].revents != 0
    }
}
