import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// The mounts below the outbox (man 5 proc_pid_mountinfo).
enum MountTable {
    /// One mount.
    struct Mount: Equatable {
        /// The kernel's number of the mount, different each time the file system is mounted.
        var id: UInt64
        /// The mount's source in the file system's notation: a device, or a server's address.
        var source: [UInt8]
        /// The file system's type: "ext4", "fuse.sshfs".
        var type: [UInt8] = []
    }

    /// Finds the mounts below a directory in the text of `mountinfo`.
    ///
    /// - Parameter base: the directory's absolute path.
    static func parse(_ text: [UInt8], below base: [UInt8]) -> [RelativePath: Mount] {
        let prefix = base == [slash] ? base : base + [slash]
        var mounts: [RelativePath: Mount] = [:]
        forEachMount(in: text) { point, mount in
            guard point.count > prefix.count, point.starts(with: prefix),
                let path = RelativePath(Array(point.dropFirst(prefix.count)))
            else { return }
            // If several mounts are stacked on one path, only the last one is visible.
            mounts[path] = mount
        }
        return mounts
    }

    /// Finds the mount that holds a directory.
    ///
    /// - Parameter base: the directory's absolute path, without symbolic links.
    static func mount(of base: [UInt8], in text: [UInt8]) -> (point: [UInt8], mount: Mount)? {
        var found: (point: [UInt8], mount: Mount)?
        forEachMount(in: text) { point, mount in
            let isAbove = point == [slash] || base == point || base.starts(with: point + [slash])
            if isAbove, point.count >= found?.point.count ?? 0 { found = (point, mount) }
        }
        return found
    }

    private static func forEachMount(in text: [UInt8], _ body: (_ point: [UInt8], Mount) -> Void) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            guard fields.count > 6, let id = UInt64(String(decoding: fields[0], as: UTF8.self)) else { continue }
            // After any number of optional fields comes a hyphen, then type, source and options.
            guard let hyphen = fields[6...].firstIndex(of: [UInt8(ascii: "-")]), hyphen + 2 < fields.count else {
                continue
            }
            body(
                unescape(fields[4]),
                Mount(id: id, source: unescape(fields[hyphen + 2]), type: Array(fields[hyphen + 1])))
        }
    }

    private static let slash = UInt8(ascii: "/")

    /// Decodes spaces, tabs, newlines and backslashes, which `mountinfo` writes as a backslash and three octal
    /// digits.
    private static func unescape(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            let code = String(decoding: rest.prefix(3), as: UTF8.self)
            if byte == UInt8(ascii: "\\"), rest.count >= 3, let value = UInt8(code, radix: 8) {
                result.append(value)
                rest = rest.dropFirst(3)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}

/// Reports changes of the mount table and reads the present mounts.
final class MountMonitor: Sendable {
    private let file: SharedDescriptor

    /// The descriptor to poll for POLLPRI; a poll(2) that reports a change also clears the change (man 5 proc,
    /// "/proc/mounts").
    var rawValue: Int32 { file.rawValue }

    /// - Throws: `Errno` of open(2).
    init(path: String = "/proc/self/mountinfo") throws(Errno) {
        file = try SharedDescriptor(opening: path, flags: O_RDONLY)
    }

    /// Whether mounts changed since the last call, or since the last poll(2) that reported a change.
    func isChanged() -> Bool {
        var entry = pollfd(fd: rawValue, events: Int16(POLLPRI), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    /// Returns the mounts below an open directory.
    ///
    /// - Throws: `Errno` of read(2) or readlink(2).
    func mounts(below directory: Directory) throws(Errno) -> [RelativePath: MountTable.Mount] {
        var text = try text()
        // A change between two reads could leave a mount out or list it twice.
        for _ in 0..<3 where isChanged() { text = try self.text() }
        return MountTable.parse(text, below: try Self.path(of: directory))
    }

    /// Returns the text of the mount table.
    ///
    /// - Throws: `Errno` of read(2).
    func text() throws(Errno) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
        defer { buffer.deallocate() }
        var text: [UInt8] = []
        while true {
            let count = try retryingOnInterrupt { pread(rawValue, buffer.baseAddress, buffer.count, off_t(text.count)) }
            if count == 0 { return text }
            text.append(contentsOf: buffer[..<count])
        }
    }

    private static func path(of directory: Directory) throws(Errno) -> [UInt8] {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try retryingOnInterrupt {
            readlink("/proc/self/fd/\(directory.rawValue)", &buffer, buffer.count)
        }
        return buffer[..<count].map { UInt8(bitPattern: $0) }
    }
}
