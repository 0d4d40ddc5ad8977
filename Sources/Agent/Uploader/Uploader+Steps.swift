import FileWatch
import Intake
import LinuxSystem
import Logging
import Session
import Sidecars
import UploadCore

// Handles the events of the watch, and performs the steps that parts of the agent decided on.
extension Uploader {
    /// Queues events of the watch. Called on the watch's thread, which blocks while the queue is full.
    nonisolated func hear(_ events: [WatchEvent]) {
        if heard.add(events, merge: WatchEvent.fold) { run { $0.takeSlice() } }
    }

    /// Handles some of the queued watch events. Control requests, results and the end of the agent get their turn
    /// between two slices.
    private func takeSlice() {
        let end = now.monotonic + WatchIntake.slice
        while !hasStopped {
            guard let steps = intake.next(from: heard, watchWorld) else { return setAlarm() }
            perform(steps)
            if now.monotonic >= end {
                setAlarm()
                return run { $0.takeSlice() }
            }
        }
    }

    /// What `WatchIntake` may ask at this moment.
    var watchWorld: WatchWorld { WatchWorld(paths: world, book: book, posts: posts, rules: parts.rules) }

    func perform(_ steps: [AgentStep]) {
        for step in steps { perform(step) }
    }

    private func perform(_ step: AgentStep) {
        switch step {
        case .path(let event): handle(event)
        case .posts(let event): handle(posts: event)
        case .uploads(let events): process(events)
        case .portrait(let event): portraits.service?.handle(event)
        case .problem(let problem, let message): status.problems[problem] = message
        case .log(let level, let message, let metadata):
            parts.logger.log(level: level, "\(message)", metadata: metadata.mapValues { .string($0) })
        case .takeOverNobodys: takeOverNobodys()
        case .watchForToken:
            parts.session.watch { [weak self] in self?.run { $0.credentialsChanged() } }
        case .stopWatchingForToken: parts.session.stopWatching()
        case .sweepThumbnails: thumbnails?.sweep()
        case .searchElsewhere(let findings): foundInOutbox(findings)
        case .retireStuck: retireStuck()
        case .endScan:
            status.forgetNotice(at: now.monotonic)
            sweepSidecars()
            // An empty commit detects a damaged ledger even if nothing is written for hours.
            commit([])
        case .leaveOutbox:
            // Pending sidecars belong to the old outbox and have no place in this one.
            parts.sidecars.forgetPending()
            try? parts.files.outbox.repin()
        case .countElsewhere: outboxWasExchanged()
        case .recoverHeldFiles: recoverHeldFiles()
        }
    }
}
