import CLinux
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage

/// An inotify instance and the thread that empties it into memory (man 7 inotify).
///
/// The kernel keeps 16,384 events by default and drops the rest. The reader therefore does nothing but copy bytes.
final class InotifyQueue: Sendable {
    private struct State {
        var chunks: [[UInt8]] = []
        var bytes = 0
        var isOverflowed = false
    }

    /// Memory that waiting events may take; beyond it they are dropped, which a full scan repairs.
    private static let capacity = 32 << 20
    private static let readSize = 64 << 10
    /// More than any one event takes: 16 bytes and a name of 255 with its padding.
    private static let largestEvent = 512
    /// Pause after each read, in milliseconds: while files pour in, one wake-up then serves many events.
    private static let pause: Int32 = 1

    private let descriptor: Descriptor
    private let wakeup: Wakeup
    private let ending: Wakeup
    private let state = Mutex(State())

    /// Opens an instance and starts its reader.
    ///
    /// - Parameters:
    ///   - wakeup: signalled when events come into an empty queue.
    ///   - hasReader: false leaves events with the kernel until somebody calls `drain`, so that a test can overflow it.
    /// - Throws: `Errno` of inotify_init1(2); `.tooManyOpenFiles` at the limit of instances.
    init(wakeup: Wakeup, hasReader: Bool = true) throws(Errno) {
        let raw = try retryingOnInterrupt { inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)) }
        descriptor = Descriptor(owning: raw)
        self.wakeup = wakeup
        ending = try Wakeup()
        if hasReader { startThread(name: "watch-reader") { self.readUntilClosed() } }
    }

    /// Ends the reader thread.
    func close() { ending.signal() }

    /// Takes what is queued, in the order of the kernel.
    ///
    /// - Returns: reads of the descriptor, and whether events were dropped for want of memory.
    func take() -> (chunks: [[UInt8]], isOverflowed: Bool) {
        state.withLock { state in
            defer { state = State() }
            return (state.chunks, state.isOverflowed)
        }
    }

    /// Copies everything the kernel holds; after it, `take` gives every event that was raised before this call.
    func drain() {
        while readOnce() {}
    }

    /// Watches an open directory.
    ///
    /// It is named by its descriptor, so that no rename or symbolic link can put another in its place meanwhile.
    ///
    /// - Returns: the watch descriptor; the same again for a directory that is watched already.
    /// - Throws: `Errno` of inotify_add_watch(2).
    func watch(_ directory: Directory, isRoot: Bool) throws(Errno) -> Int32 {
        var mask =
            IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_ONLYDIR
            | IN_EXCL_UNLINK
        if isRoot { mask |= IN_DELETE_SELF | IN_MOVE_SELF }
        return try retryingOnInterrupt {
            inotify_add_watch(
                descriptor.rawValue, "/proc/self/fd/\(directory.rawValue)", UInt32(bitPattern: Int32(mask)))
        }
    }

    /// Watches a symbolic link itself, so that its removal or replacement wakes the watch's thread.
    ///
    /// - Returns: whether there is one at the path.
    @discardableResult
    func watchLink(_ path: String) -> Bool {
        let raw = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)
        if raw < 0 { return false }
        let link = Descriptor(owning: raw)
        guard (try? FileStatus(of: link.rawValue))?.kind == .symbolicLink else { return false }
        // A link that is removed while it is open loses its last name, an attribute.
        let mask = UInt32(bitPattern: Int32(IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB))
        return inotify_add_watch(descriptor.rawValue, "/proc/self/fd/\(link.rawValue)", mask) >= 0
    }

    /// Ends a watch; one that the kernel removed already is no error.
    func unwatch(_ watch: Int32) {
        _ = inotify_rm_watch(descriptor.rawValue, watch)
    }

    private func readUntilClosed() {
        var entries = [
            pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0),
            pollfd(fd: ending.rawValue, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            _ = poll(&entries, nfds_t(entries.count), -1)
            if entries[1].revents != 0 { return }
            drain()
            _ = poll(&entries[1], 1, Self.pause)
        }
    }

    /// Reads under the lock, so that the order is kept whoever reads.
    private func readOnce() -> Bool {
        let (isMore, wasEmpty) = state.withLock { state in
            let chunk = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.readSize) { buffer in
                let count = max(0, read(descriptor.rawValue, buffer.baseAddress, buffer.count))
                return Array(buffer[..<count])
            }
            if chunk.isEmpty { return (false, false) }
            // The kernel had no more where it left room for another event.
            let isMore = chunk.count > Self.readSize - Self.largestEvent
            let wasEmpty = state.chunks.isEmpty && !state.isOverflowed
            if state.bytes + chunk.count > Self.capacity {
                state.isOverflowed = true
            } else {
                state.bytes += chunk.count
                state.chunks.append(chunk)
            }
            return (isMore, wasEmpty)
        }
        if wasEmpty { wakeup.signal() }
        return isMore
    }
}
