import UploadCore

/// How fast uploads are sent, and how far their fragments in flight are. For display only.
struct TransferFigures: Sendable {
    private var speeds: [ContentKey: SpeedMeter] = [:]
    private var bytesInFlight = BytesInFlight()

    // MARK: Figures

    /// Returns the speed of an upload; `nil` if it sends nothing.
    func bytesPerSecond(of key: ContentKey, at now: MonotonicTime) -> UInt64? { speeds[key]?.bytesPerSecond(at: now) }

    /// Returns the speed of all uploads together.
    func bytesPerSecond(at now: MonotonicTime) -> UInt64 {
        speeds.values.reduce(0) { $0 + ($1.bytesPerSecond(at: now) ?? 0) }
    }

    /// Returns the bytes of an upload's fragments in flight that the peer of the connection acknowledged.
    func bytesInFlight(of key: ContentKey) -> UInt64 { bytesInFlight.sum(of: key) }

    /// Returns the number of bytes that a request sends; `nil` without a request.
    func length(of id: RequestID) -> UInt64? { bytesInFlight.length(of: id) }

    // MARK: Measuring

    /// Starts measuring a fragment.
    ///
    /// - Parameters:
    ///   - length: number of bytes to send.
    ///   - isStream: whether the upload machine counts the bytes in flight as progress.
    mutating func begin(
        _ id: RequestID, _ key: ContentKey, of length: UInt64, isStream: Bool = false, at now: MonotonicTime
    ) {
        bytesInFlight.begin(id, key, of: length, isStream: isStream)
        if speeds[key] == nil { measure(0, of: key, at: now) }
    }

    /// Records how many bytes of a fragment the peer acknowledged.
    ///
    /// - Returns: the upload that made progress; `nil` if none did.
    mutating func reach(_ bytes: UInt64, by id: RequestID, at now: MonotonicTime) -> ContentKey? {
        guard let (key, gain) = bytesInFlight.reach(bytes, by: id) else { return nil }
        measure(gain, of: key, at: now)
        return key
    }

    /// Records that the server acknowledged a whole fragment.
    mutating func acknowledge(_ bytes: UInt64, by id: RequestID, of key: ContentKey, at now: MonotonicTime) {
        measure(bytes - min(bytes, bytesInFlight.measured(by: id)), of: key, at: now)
    }

    /// Stops measuring a fragment, because the server answered or the request was given up.
    mutating func end(_ id: RequestID) { bytesInFlight.end(id) }

    /// Forgets the speed of an upload that ended.
    mutating func forget(_ key: ContentKey) { speeds[key] = nil }

    private mutating func measure(_ bytes: UInt64, of key: ContentKey, at now: MonotonicTime) {
        speeds[key, default: SpeedMeter()].add(bytes, at: now)
    }
}

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
