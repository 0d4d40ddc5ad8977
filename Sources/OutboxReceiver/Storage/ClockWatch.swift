/// Tells when the system's clock was set.
///
/// Ages here are counted in days and must last over restarts, so they are differences of clock readings; a clock that
/// is set, as on a machine that learns the time only once it is on the network, would make everything look days old.
struct ClockWatch {
    /// A smaller difference is drift, or the time between two readings.
    private static let tolerance: Int64 = 600

    private var time: Int64
    private var uptime: Int64

    /// - Parameters:
    ///   - time: The system's clock, in seconds.
    ///   - uptime: A clock that nobody sets, in seconds, counting while the machine sleeps too.
    init(time: Int64, uptime: Int64) {
        self.time = time
        self.uptime = uptime
    }

    /// Takes the next reading.
    /// - Returns: By how many seconds the clock was set forward since the last one; negative: back; 0: it was not.
    mutating func jump(time: Int64, uptime: Int64) -> Int64 {
        let jump = (time - self.time) - (uptime - self.uptime)
        self.time = time
        self.uptime = uptime
        return abs(jump) > Self.tolerance ? jump : 0
    }
}
