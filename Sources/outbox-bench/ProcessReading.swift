import Glibc

/// What the kernel tells about a running process (man 5 proc). Readings of a process that is gone are nil.
struct ProcessReading {
    let pid: pid_t

    /// User and system time of all threads so far, ended ones included, in seconds.
    var cpuSeconds: Double? {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The most memory it ever held at once, in bytes.
    var peakMemory: Int64? { field("VmHWM", of: "status").map { $0 << 10 } }

    /// The memory it holds now, in bytes.
    var memory: Int64? { field("VmRSS", of: "status").map { $0 << 10 } }

    /// How often its threads went to sleep by themselves, which is how often they were woken up.
    var voluntarySwitches: Int64 {
        TextFile.names(in: "/proc/\(pid)/task")
            .compactMap { field("voluntary_ctxt_switches", of: "task/\($0)/status") }
            .reduce(0, +)
    }

    /// Whether it watches anything with inotify.
    var hasInotifyWatch: Bool {
        TextFile.names(in: "/proc/\(pid)/fdinfo").contains { descriptor in
            TextFile.read("/proc/\(pid)/fdinfo/\(descriptor)")?.contains("inotify wd:") ?? false
        }
    }

    private func field(_ name: String, of file: String) -> Int64? {
        guard let text = TextFile.read("/proc/\(pid)/\(file)") else { return nil }
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int64($0) }
    }
}
