import SystemdService
import UploadCore

extension Uploader {
    /// Returns the agent's state in one line. Runs on the uploader's own thread: if the uploader hangs, no answer
    /// comes and the watchdog fires.
    func statusLine() -> String {
        var line = StatusLine(isPaused: machine.isPaused)
        for record in book.drops.values {
            var state = record.state
            if let key = record.key, let view = machine.view(of: key, from: record.path) { state = view.state }
            line.counts[state, default: 0] += 1
        }
        line.bytesPerSecond = speeds.values.reduce(0) { $0 + ($1.bytesPerSecond(at: now.monotonic) ?? 0) }
        line.problems = problems.sorted { $0.key < $1.key }.map(\.value)
        return line.text
    }
}
