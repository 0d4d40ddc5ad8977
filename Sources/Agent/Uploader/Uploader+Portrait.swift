import ControlAPI
import Portrait
import UploadCore

// Files of the portrait folder. They are watched, hashed and reported like all others.
extension Uploader {
    /// Starts the portrait service with the pictures that were under way when the agent ended.
    func startPortrait() {
        portraits.service?.start(
            PortraitOutlets(
                report: { [weak self] report in self?.run { $0.take(report) } },
                reconsider: { [weak self] path in self?.run { $0.handle(.lookAgain(path)) } },
                sessionRefused: { [weak self] error in self?.run { $0.perform(SessionSteps.portraitRefused(error)) } },
                announce: { [events] _, profile in events.publish(profile: profile) }),
            isAllPaused: machine.isPaused)
    }

    private func take(_ report: PortraitReport) {
        if let event = portraits.take(report, record(of: report.path), book) { handle(event) }
    }
}
