import Glibc
import LinuxSystem

extension WatchFacts {
    /// Counts the outbox's directories, and the watches of this user's processes.
    ///
    /// - Parameters:
    ///   - outbox: Absolute path of the outbox.
    ///   - agent: The process whose own watches don't count.
    ///   - limit: Time limit for counting directories.
    init(probing outbox: String, agent: Int32?, limit: Duration) {
        (directories, isCountComplete) = Self.count(below: outbox, limit: limit)
        (watchesElsewhere, instancesElsewhere) = Self.inUse(besides: agent)
        mostWatches = Self.limit("fs/inotify/max_user_watches", "user/max_inotify_watches")
        mostInstances = Self.limit("fs/inotify/max_user_instances", "user/max_inotify_instances")
        mostQueuedEvents = Self.limit("fs/inotify/max_queued_events")
    }

    /// The lowest of several settings: a user namespace has limits of its own (man 7 namespaces, "/proc/sys/user").
    private static func limit(_ names: String...) -> Int? {
        names.compactMap { ProcFile.text("/proc/sys/" + $0).flatMap { Int($0.prefix { $0.isNumber }) } }.min()
    }

    private static func count(below outbox: String, limit: Duration) -> (Int, Bool) {
        guard let root = try? Directory(path: outbox) else { return (0, true) }
        let end = ContinuousClock.now + limit
        var rest: [[UInt8]] = [[]]
        var count = 0
        while let path = rest.popLast() {
            if ContinuousClock.now > end { return (count, false) }
            // A directory that can't be opened can't be watched either.
            guard let directory = try? root.directory(path), let entries = try? directory.entries() else { continue }
            count += 1
            for entry in entries where entry.isDirectory ?? isDirectory(entry.name, in: directory) {
                rest.append(path.isEmpty ? entry.name : path + [UInt8(ascii: "/")] + entry.name)
            }
        }
        return (count, true)
    }

    private static func isDirectory(_ name: [UInt8], in directory: Directory) -> Bool {
        (try? directory.status(name))?.kind == .directory
    }

    /// Counts watches and instances of this user's processes (man 5 proc, "/proc/pid/fdinfo"). Skips unreadable
    /// processes.
    private static func inUse(besides agent: Int32?) -> (watches: Int, instances: Int) {
        var (watches, instances) = (0, 0)
        for process in ProcFile.names(in: "/proc").compactMap({ Int32($0) }) where process != agent {
            guard let status = try? FileStatus(path: "/proc/\(process)"), status.owner == geteuid() else { continue }
            for descriptor in ProcFile.names(in: "/proc/\(process)/fd")
            where ProcFile.link("/proc/\(process)/fd/\(descriptor)") == "anon_inode:inotify" {
                instances += 1
                let info = ProcFile.text("/proc/\(process)/fdinfo/\(descriptor)") ?? ""
                watches += info.split(separator: "\n").count { $0.hasPrefix("inotify wd:") }
            }
        }
        return (watches, instances)
    }
}
