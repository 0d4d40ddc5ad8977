import CLinux
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage

/// An inotify instance and the thread that drains its events into memory (man 7 inotify).
///
/// The kernel queues 16,384 events by default and drops the rest. The reader therefore only copies bytes.
final class InotifyQueue: Sendable {
    private struct State {
        var chunks: [[UInt8]] = []
        var bytes = 0
        var isOverflowed = false
    }

    /// Memory limit for waiting events, in bytes. Events beyond the limit are dropped; a full scan makes up for them.
    private static let capacity = 32 << 20
    private static let readSize = 64 << 10
    /// Upper bound for one event's size in bytes: 16 bytes and a name, which no file system has longer than a path.
    private static let largestEvent = 16 + Int(PATH_MAX)
    /// Pause after each read, in milliseconds: during a burst of files, one wake-up then serves many events.
    private static let pause: Int32 = 5

    private let descriptor: Descriptor
    private let wakeup: Wakeup
    private let ending: Wakeup
    private let state = Mutex(State())

    /// Opens an instance and starts its reader.
    ///
    /// - Parameters:
    ///   - wakeup: signalled when events arrive in an empty queue.
    ///   - hasReader: false leaves events with the kernel until a call of `drain`, so that a test can overflow the
    ///     kernel's queue.
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

    /// Removes and returns the queued events, in the kernel's order.
    ///
    /// - Returns: the bytes of each read(2), and whether events were dropped for lack of memory.
    func take() -> (chunks: [[UInt8]], isOverflowed: Bool) {
        state.withLock { state in
            defer { state = State() }
            return (state.chunks, state.isOverflowed)
        }
    }

    /// Copies all events from the kernel; the next `take` returns every event raised before this call.
    func drain() {
        while readOnce() {}
    }

    /// Watches an open directory.
    ///
    /// Passes the directory by its descriptor, so that no rename or symbolic link can substitute another directory.
    ///
    /// - Returns: the watch descriptor; for an already watched directory, the existing one.
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

    /// Watches a symbolic link itself, so that the link's removal or replacement wakes the watch thread.
    ///
    /// - Returns: whether the path is a symbolic link that could be watched.
    @discardableResult
    func watchLink(_ path: String) -> Bool {
        let raw = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)
        if raw < 0 { return false }
        let link = Descriptor(owning: raw)
        guard (try? FileStatus(of: link.rawValue))?.kind == .symbolicLink else { return false }
        // Removing an open link drops its last name, which raises an attribute event.
        let mask = UInt32(bitPattern: Int32(IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB))
        return inotify_add_watch(descriptor.rawValue, "/proc/self/fd/\(link.rawValue)", mask) >= 0
    }

    /// Ends a watch; ignores a watch the kernel already removed.
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

    /// Reads under the lock, so that chunks stay in order whichever thread reads.
    private func readOnce() -> Bool {
        let (isMore, wasEmpty) = state.withLock { state in
            let chunk = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.readSize) { buffer in
                let count = max(0, read(descriptor.rawValue, buffer.baseAddress, buffer.count))
                return Array(buffer[..<count])
            }
            if chunk.isEmpty { return (false, false) }
            // If the buffer still had room for another event, the kernel has no more events.
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

/// One event in the kernel's format (man 7 inotify, struct inotify_event).
struct RawEvent: Equatable {
    var watch: Int32
    var mask: UInt32
    var cookie: UInt32
    /// The name within the watched directory, without padding; empty for the directory itself.
    var name: [UInt8]

    func has(_ flag: Int32) -> Bool { mask & UInt32(bitPattern: flag) != 0 }

    var isDirectory: Bool { has(RawEvent.directoryFlag) }

    static let directoryFlag = Int32(IN_ISDIR)

    /// Parses the bytes of one read(2) from an inotify descriptor.
    static func parse(_ bytes: [UInt8], _ body: (RawEvent) -> Void) {
        let headerSize = 16
        bytes.withUnsafeBytes { raw in
            var offset = 0
            while offset + headerSize <= raw.count {
                let length = Int(raw.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
                let end = offset + headerSize + length
                if end > raw.count { return }
                let name = raw[(offset + headerSize)..<end].prefix { $0 != 0 }
                body(
                    RawEvent(
                        watch: raw.loadUnaligned(fromByteOffset: offset, as: Int32.self),
                        mask: raw.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self),
                        cookie: raw.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self),
                        name: Array(name)))
                offset = end
            }
        }
    }
}
