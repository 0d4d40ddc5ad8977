import Glibc
import LinuxSystem
import Synchronization

/// The kernel's figures for a running process (man 5 proc). All figures are nil once the process has ended.
struct ProcessReading {
    let pid: pid_t

    /// User and system time of all threads so far, including ended ones, in seconds.
    var cpuSeconds: Double? {
        var clock = clockid_t()
        // struct timespec
        var time = (seconds: 0, nanoseconds: 0)
        let isRead = withUnsafeMutablePointer(to: &time) { time in
            time.withMemoryRebound(to: timespec.self, capacity: 1) {
                clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, $0) == 0
            }
        }
        return isRead ? Double(time.seconds) + Double(time.nanoseconds) / 1e9 : nil
    }

    /// The anonymous memory, in bytes: what the kernel can't take back at any time, as it can pages of files.
    var memory: Int64? { field("RssAnon", of: "status").map { $0 << 10 } }

    /// The number of voluntary context switches by thread, which equals the number of wake-ups.
    var voluntarySwitches: [String: Int64] {
        TextFile.names(in: "/proc/\(pid)/task").reduce(into: [:]) { switches, thread in
            switches[thread] = field("voluntary_ctxt_switches", of: "task/\(thread)/status")
        }
    }

    /// Returns the number of wake-ups since `before`. The counts of threads that ended meanwhile are lost.
    func wakeUps(since before: [String: Int64]) -> Int64 {
        voluntarySwitches.reduce(0) { $0 + $1.value - (before[$1.key] ?? 0) }
    }

    private func field(_ name: String, of file: String) -> Int64? {
        guard let text = TextFile.read("/proc/\(pid)/\(file)") else { return nil }
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int64($0) }
    }
}

/// The highest anonymous memory of a process that has been seen, looked at every 10 ms on a thread of its own until the
/// process ends.
final class PeakMemory: Sendable {
    private let peak = Atomic<Int64>(0)

    init(of reading: ProcessReading) {
        startThread(name: "memory") { [weak self] in
            while let self, let memory = reading.memory {
                self.peak.max(memory, ordering: .relaxed)
                usleep(10_000)
            }
        }
    }

    /// In bytes.
    var bytes: Int64 { peak.load(ordering: .relaxed) }
}
