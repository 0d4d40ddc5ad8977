import Glibc
import LinuxSystem

/// A kernel limit on watching (man 7 inotify, "/proc interfaces").
enum InotifyLimit: CaseIterable, Sendable {
    /// Maximum number of directories one user may watch.
    case watches
    /// Maximum number of inotify instances one user may have.
    case instances
    /// Maximum number of events waiting in one instance; the kernel drops further events.
    case queuedEvents

    /// The value in force for this process.
    struct Setting: Equatable, Sendable {
        /// The sysctl of the limit.
        var name: String
        /// The limit's present value.
        var value: Int
        /// A larger value to recommend.
        var suggestion: Int

        /// Instructions for raising the limit, now and permanently.
        var remedy: String {
            "`\(name)` is \(value): raise it now with `sudo sysctl \(name)=\(suggestion)`, "
                + "and permanently by writing `\(name)=\(suggestion)` to /etc/sysctl.d/60-outbox.conf"
        }
    }

    /// Reads the limit.
    ///
    /// A user namespace has limits of its own beside the machine's limits, and the smaller value applies (man 7
    /// namespaces, "/proc/sys/user").
    ///
    /// - Parameter directory: the root of the sysctl files.
    /// - Returns: nil if no sysctl of the limit can be read.
    func setting(in directory: String = "/proc/sys") -> Setting? {
        sysctls.compactMap { name -> Setting? in
            let file = "\(directory)/\(name.replacing(".", with: "/"))"
            guard let value = Self.number(in: file) else { return nil }
            return Setting(name: name, value: value, suggestion: max(leastSuggestion, value.saturatingDouble))
        }.min { $0.value < $1.value }
    }

    private var sysctls: [String] {
        switch self {
        case .watches: ["fs.inotify.max_user_watches", "user.max_inotify_watches"]
        case .instances: ["fs.inotify.max_user_instances", "user.max_inotify_instances"]
        case .queuedEvents: ["fs.inotify.max_queued_events"]
        }
    }

    private var leastSuggestion: Int {
        switch self {
        case .watches: 524_288
        case .instances: 1024
        case .queuedEvents: 131_072
        }
    }

    private static func number(in file: String) -> Int? {
        guard let file = try? SharedDescriptor(opening: file, flags: O_RDONLY) else { return nil }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { buffer in
            guard let count = try? file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0) else { return nil }
            return Int(String(decoding: buffer[..<count].prefix { $0 >= 0x30 && $0 <= 0x39 }, as: UTF8.self))
        }
    }
}

extension Int {
    fileprivate var saturatingDouble: Int { Swift.min(self, Int(Int32.max) / 2) * 2 }
}
