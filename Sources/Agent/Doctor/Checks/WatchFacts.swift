/// The kernel's limits on watching directories (man 7 inotify), and this user's current usage.
struct WatchFacts: Equatable, Sendable {
    /// Directories at and below the outbox. Each needs a watch.
    var directories: Int
    /// Whether all directories were counted; false if counting took too long.
    var isCountComplete: Bool
    /// Watches and instances of this user's other processes.
    var watchesElsewhere: Int
    var instancesElsewhere: Int
    /// `/proc/sys/fs/inotify/…`; nil if unreadable.
    var mostWatches: Int?
    var mostInstances: Int?
    var mostQueuedEvents: Int?

    var findings: [Finding] {
        let troubles = [watches, instances, queue].compactMap(\.self)
        guard troubles.isEmpty else { return troubles }
        let limit = mostWatches.map { ", the limit is \($0)" } ?? ""
        return [Finding(.watches, .ok, "\(counted) to watch\(limit)")]
    }

    private var counted: String {
        "\(isCountComplete ? "" : "at least ")\(directories) \(directories == 1 ? "directory" : "directories")"
    }

    private var watches: Finding? {
        guard let mostWatches, directories + watchesElsewhere > mostWatches else { return nil }
        let others = watchesElsewhere == 0 ? "" : ", other programs of yours hold \(watchesElsewhere)"
        return Finding(
            .watches, .warning,
            "\(counted) to watch\(others), and the limit is \(mostWatches): the agent scans the rest every 5 s",
            remedy: Self.raise("max_user_watches", above: directories + watchesElsewhere, usual: 524_288))
    }

    private var instances: Finding? {
        guard let mostInstances, instancesElsewhere >= mostInstances else { return nil }
        return Finding(
            .watches, .warning,
            "your programs hold all \(mostInstances) inotify instances: the agent scans the outbox every 5 s instead",
            remedy: Self.raise("max_user_instances", above: instancesElsewhere, usual: 1024))
    }

    private var queue: Finding? {
        guard let mostQueuedEvents, mostQueuedEvents < 4096 else { return nil }
        return Finding(
            .watches, .note,
            "the kernel queues only \(mostQueuedEvents) events: after a burst of files the agent scans the whole outbox",
            remedy: Self.raise("max_queued_events", above: 0, usual: 16_384))
    }

    private static func raise(_ name: String, above needed: Int, usual: Int) -> String {
        let value = max(usual, needed.multipliedReportingOverflow(by: 2).partialValue)
        return
            "echo fs.inotify.\(name)=\(value) | sudo tee /etc/sysctl.d/60-outbox-\(name).conf && sudo sysctl --system"
    }
}
