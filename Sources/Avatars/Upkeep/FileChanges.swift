import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// Tells when one file of a directory may have changed: written, replaced, made or removed (man 7 inotify).
///
/// The directory is watched, since a file that is renamed over another is not the one that was watched. Where that is
/// not possible, or the directory goes away, it is looked at once a minute.
struct FileChanges {
    private let directory: String
    private let name: [UInt8]

    init(path: String) {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        directory = end == path.startIndex ? "/" : String(path[..<end])
        name = Array(path[end...].utf8.drop { $0 == UInt8(ascii: "/") })
    }

    /// An element each time, from a thread that ends when nobody listens any more.
    func stream() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let raw = outbox_eventfd()
        if raw < 0 {
            continuation.finish()
            return stream
        }
        let ending = SharedDescriptor(Descriptor(owning: raw))
        continuation.onTermination = { _ in _ = eventfd_write(ending.rawValue, 1) }
        startThread(name: "avatar-wanted") {
            run(ending) { _ = continuation.yield() }
            continuation.finish()
        }
        return stream
    }

    private func run(_ ending: SharedDescriptor, _ changed: () -> Void) {
        var watch: SharedDescriptor?
        while true {
            if watch == nil {
                watch = open()
                // Whatever happened while nothing was watched.
                changed()
            }
            var entries = [
                pollfd(fd: ending.rawValue, events: Int16(POLLIN), revents: 0),
                pollfd(fd: watch?.rawValue ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            _ = poll(&entries, nfds_t(entries.count), watch == nil ? 60_000 : -1)
            if entries[0].revents != 0 { return }
            guard let open = watch, entries[1].revents != 0 else { continue }
            switch look(at: open) {
            case .changed: changed()
            case .nothing: break
            case .lost: watch = nil
            }
        }
    }

    private enum Finding {
        case changed, nothing, lost
    }

    private func open() -> SharedDescriptor? {
        let raw = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        if raw < 0 { return nil }
        let descriptor = SharedDescriptor(Descriptor(owning: raw))
        let mask =
            IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
            | IN_ONLYDIR
        return inotify_add_watch(raw, directory, UInt32(bitPattern: Int32(mask))) < 0 ? nil : descriptor
    }

    /// Reads all events that wait.
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
