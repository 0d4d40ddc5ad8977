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

    /// How often each of its threads went to sleep by itself, which is how often it was woken up.
    var voluntarySwitches: [String: Int64] {
        TextFile.names(in: "/proc/\(pid)/task").reduce(into: [:]) { switches, thread in
            switches[thread] = field("voluntary_ctxt_switches", of: "task/\(thread)/status")
        }
    }

    /// How often its threads were woken up since; those that ended meanwhile take their counts with them.
    func wakeUps(since before: [String: Int64]) -> Int64 {
        voluntarySwitches.reduce(0) { $0 + $1.value - (before[$1.key] ?? 0) }
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
