import EndToEndSupport
import TestSupport

extension Agent {
    /// Waits until a fault of the trial kills the agent. Returns false if none does.
    func died(within patience: Duration) async throws -> Bool {
        do {
            try await Poll.until("the agent's end", timeout: patience, every: .milliseconds(5)) {
                program?.ending != nil
            }
        } catch is Poll.TimedOut { return false }
        guard program?.ending == .killed(9) else {
            throw Surprise("the agent ended by itself: \(String(describing: program?.ending))\n\(log)")
        }
        return true
    }
}
