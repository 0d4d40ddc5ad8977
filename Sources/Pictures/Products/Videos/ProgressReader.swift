import Synchronization

/// Reads what ffmpeg prints with `-progress`: lines such as `out_time_us=1500000`.
final class ProgressReader: Sendable {
    private struct State {
        var line: [UInt8] = []
        var part = 0.0
    }

    private static let longestLine = 200
    private let duration: Double
    private let report: @Sendable (Double) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - duration: Of the video in seconds.
    ///   - report: Receives the finished part, 0 to 1; it never shrinks.
    init(duration: Double, report: @escaping @Sendable (Double) -> Void) {
        self.duration = duration
        self.report = report
    }

    /// Reads the next piece of the output.
    func read(_ piece: ArraySlice<UInt8>) {
        let news = state.withLock { state -> Double? in
            let before = state.part
            for byte in piece {
                if byte == UInt8(ascii: "\n") {
                    if let part = part(in: state.line), part > state.part { state.part = part }
                    state.line = []
                } else if state.line.count < Self.longestLine {
                    state.line.append(byte)
                }
            }
            return state.part > before ? state.part : nil
        }
        if let news { report(news) }
    }

    private func part(in line: [UInt8]) -> Double? {
        let fields = String(decoding: line, as: UTF8.self).split(separator: "=")
        guard fields.count == 2, fields[0] == "out_time_us", let time = Double(fields[1]), duration > 0 else {
            return nil
        }
        return min(1, max(0, time / 1_000_000 / duration))
    }
}
