import UploadCore

/// Measures the speed of an upload over the last seconds.
struct SpeedMeter: Sendable {
    /// Length of the measured period.
    static let window = Duration.seconds(10)

    private var marks: [(at: MonotonicTime, bytes: UInt64)] = []

    mutating func add(_ bytes: UInt64, at time: MonotonicTime) {
        marks.append((time, bytes))
        // A mark per fragment would mean thousands on a fast link. Twenty per window are enough.
        if marks.count >= 2, marks[marks.count - 1].at - marks[marks.count - 2].at < Self.window / 20 {
            marks[marks.count - 2].bytes += bytes
            marks.removeLast()
        }
        marks.removeAll { time - $0.at > Self.window }
    }

    func bytesPerSecond(at time: MonotonicTime) -> UInt64? {
        guard let first = marks.first else { return nil }
        let seconds = Double(max(time - first.at, .milliseconds(500)).wholeNanoseconds) / 1e9
        return UInt64(Double(marks.reduce(0) { $0 + $1.bytes }) / seconds)
    }
}
