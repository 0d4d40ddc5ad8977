import ControlAPI
import Ledger
import Logging
import Portrait
import Reports
import UploadCore

// Files of the portrait folder. They are watched, hashed and reported like all others, but `PortraitService` sends
// them instead of the upload machine.
extension Uploader {
    /// Starts the service with the pictures that were under way when the agent ended.
    func startPortrait() {
        guard let service = parts.portrait?.service else { return }
        service.start(
            PortraitOutlets(
                report: { [weak self] report in self?.run { $0.take(report) } },
                reconsider: { [weak self] path in self?.run { $0.handle(.lookAgain(path)) } },
                sessionRefused: { [weak self] error in self?.run { $0.refused(error) } },
                announce: { [events] _, profile in events.publish(profile: profile) }),
            isAllPaused: machine.isPaused)
    }

    /// Carries out the path book's decisions about profile pictures.
    func carryOut(_ step: PortraitStep) {
        guard let service = parts.portrait?.service else { return }
        switch step {
        case .handOver(let records, let job):
            commit([]) { uploader in
                for record in records.compactMap(uploader.current) {
                    uploader.send(record, to: service, job.map(DropOrder.arrived) ?? .found)
                }
            }
        case .removed(let path, let key): service.handle(.takenBack(path, key, PortraitMachine.removed))
        case .renamed(let old, let new): service.handle(.renamed(old, new))
        case .setPaused(let path, let isPaused): service.handle(.paused(path, isPaused))
        case .cancelled(let path, let key): service.handle(.takenBack(path, key, .cancelledByUser))
        case .retry(let path): service.handle(.retried(path))
        case .forgetReport: break
        }
    }

    /// Passes on what concerns all requests, those of the upload machine and the profile picture's.
    func tellPortrait(_ events: [MachineEvent]) {
        guard let service = parts.portrait?.service else { return }
        for event in events {
            switch event {
            case .setAllPaused(let isPaused): service.handle(.allPaused(isPaused))
            case .setLimits(let limits): service.handle(.setRetryInterval(limits.retryInterval))
            case .networkChanged: service.handle(.networkChanged)
            case .credentialsChanged: service.credentialsChanged()
            default: break
            }
        }
    }

    /// Returns the current record of a drop, which may have a new name; `nil` if the drop ended.
    private func current(_ drop: DropRecord) -> DropRecord? {
        if let record = book.drops[drop.path], record.key == drop.key { return record }
        return book.drops.values.first { record in
            record.key == drop.key && record.identity?.inode == drop.identity?.inode && book.isPortrait(record.path)
        }
    }

    private func send(_ record: DropRecord, to service: PortraitService, _ order: DropOrder) {
        guard let key = record.key, let identity = record.identity else { return }
        let drop = PortraitDrop(
            path: record.path, key: key, identity: identity, type: record.type ?? .other,
            acceptedAt: record.acceptedAt, isPaused: record.state == .paused)
        service.handle(.dropped(drop, order))
    }

    private func take(_ told: PortraitReport) {
        guard let record = record(of: told.path), record.key == told.key, !record.state.isFinal,
            book.isPortrait(told.path)
        else { return }
        portraits[told.path] = told.state.isFinal ? nil : told
        let outcome: PortraitOutcome =
            told.state.isFinal
            ? .ended(
                told.state, told.error, attempts: told.attempts, startedAt: told.startedAt,
                finishedAt: told.finishedAt, url: told.remoteURL)
            : .handedOver
        handle(.portrait(told.path, told.key, outcome))
    }

    private func refused(_ error: FileError) {
        parts.logger.warning(
            "the server refused the session, so the waiting profile picture is discarded",
            metadata: ["reason": "\(error.message)"])
        watchForToken()
    }
}
