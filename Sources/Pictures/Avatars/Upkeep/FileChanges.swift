import CLinux
import Glibc
import LinuxSystem

/// Reports possible changes of one file: written, replaced, created or removed (man 7 inotify).
///
/// Watches the directory, because a file renamed over the watched one would go unnoticed. If the watch fails or the
/// directory vanishes, checks the file once a minute. Also checks once a minute whether the directory is still the
/// watched one: a removed directory causes no event while a process has it open.
struct FileChanges {
    private let directory: String
    private let name: [UInt8]

    init(path: String) {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        directory = end == path.startIndex ? "/" : String(path[..<end])
        name = Array(path[end...].utf8.drop { $0 == UInt8(ascii: "/") })
    }

    /// Returns a stream of the file's values, read on a thread that ends with its last listener. If several values are
    /// pending, only the newest is delivered.
    ///
    /// - Parameters:
    ///   - interval: Interval between checks of the directory, in milliseconds.
    ///   - read: Reads the file; may block.
    func stream<Value: Sendable>(
        interval: Int32 = 60_000, reading read: @escaping @Sendable () -> Value
    ) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let raw = outbox_eventfd()
        if raw < 0 {
            continuation.finish()
            return stream
        }
        let ending = SharedDescriptor(Descriptor(owning: raw))
        continuation.onTermination = { _ in _ = eventfd_write(ending.rawValue, 1) }
        startThread(name: "avatar-wanted") {
            run(ending, interval) { _ = continuation.yield(read()) }
            continuation.finish()
        }
        return stream
    }

    private func run(_ ending: SharedDescriptor, _ interval: Int32, _ changed: () -> Void) {
        var watch: Watch?
        while true {
            if watch == nil {
                watch = open()
                // Changes may have happened while nothing was watched.
                changed()
            }
            var entries = [
                pollfd(fd: ending.rawValue, events: Int16(POLLIN), revents: 0),
                pollfd(fd: watch?.events.rawValue ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            _ = poll(&entries, nfds_t(entries.count), interval)
            if entries[0].revents != 0 { return }
            guard let open = watch else { continue }
            switch entries[1].revents != 0 ? look(at: open.events) : .nothing {
            case .changed: changed()
            case .nothing: if identity != open.directory { watch = nil }
            case .lost: watch = nil
            }
        }
    }

    private enum Finding {
        case changed, nothing, lost
    }

    /// Distinguishes a directory from a later one with the same name.
    private struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    private struct Watch {
        let events: SharedDescriptor
        let directory: Identity
    }

    private var identity: Identity? {
        (try? FileStatus(path: directory)).map { Identity(device: $0.device, inode: $0.inode) }
    }

    private func open() -> Watch? {
        let raw = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        if raw < 0 { return nil }
        let descriptor = SharedDescriptor(Descriptor(owning: raw))
        let mask =
            IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
            | IN_ONLYDIR
        // Read before the watch is added: if the directory is replaced in between, the next check notices.
        guard let identity, inotify_add_watch(raw, directory, UInt32(bitPattern: Int32(mask))) >= 0 else { return nil }
        return Watch(events: descriptor, directory: identity)
    }

    /// Reads all pending events.
    private func look(at watch: SharedDescriptor) -> Finding {
        var finding = Finding.nothing
        let lostFlags = UInt32(bitPattern: Int32(IN_IGNORED | IN_MOVE_SELF | IN_DELETE_SELF))
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 8) { buffer in
            while case let count = read(watch.rawValue, buffer.baseAddress, buffer.count), count > 0 {
                // struct inotify_event: watch, mask, cookie, length, then the name and its padding.
                var offset = 0
                while offset + 16 <= count {
                    let mask = buffer.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                    let length = Int(buffer.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
                    let end = min(offset + 16 + length, count)
                    let name = buffer[offset + 16..<end].prefix { $0 != 0 }
                    if mask & lostFlags != 0 {
                        finding = .lost
                    } else if mask & UInt32(bitPattern: Int32(IN_Q_OVERFLOW)) != 0 || name.elementsEqual(self.name) {
                        if finding == .nothing { finding = .changed }
                    }
                    offset = end
                }
            }
        }
        return finding
    }
}
