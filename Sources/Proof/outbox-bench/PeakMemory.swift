import Glibc
import LinuxSystem
import Synchronization

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
