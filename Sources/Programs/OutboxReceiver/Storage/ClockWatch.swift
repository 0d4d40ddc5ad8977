/// Detects changes of the system's clock.
///
/// The receiver compares ages of several days across restarts, so an age is a difference of wall-clock readings. Some
/// machines set their clock only once they reach the network. Without a correction, everything would then look days
/// old.
struct ClockWatch {
    /// In seconds. A smaller difference is drift, or the time between two readings.
    private static let tolerance: Int64 = 600

    private var time: Int64
    private var uptime: Int64

    /// - Parameters:
    ///   - time: The system's clock, in seconds.
    ///   - uptime: A monotonic clock in seconds that also counts while the machine sleeps.
    init(time: Int64, uptime: Int64) {
        self.time = time
        self.uptime = uptime
    }

    /// Takes the next reading.
    /// - Returns: The seconds by which the clock was set forward since the last reading; negative: set back; 0: not
    ///   set.
    mutating func jump(time: Int64, uptime: Int64) -> Int64 {
        let jump = (time - self.time) - (uptime - self.uptime)
        self.time = time
        self.uptime = uptime
        return abs(jump) > Self.tolerance ? jump : 0
    }
}
