import Portrait
import UploadCore

/// What `PortraitDesk` needs of the portrait service.
protocol PortraitSending: Sendable {
    func start(_ outlets: PortraitOutlets, isAllPaused: Bool)
    func handle(_ event: PortraitMachine.Event)
    func credentialsChanged()
    func stop() async
}

extension PortraitService: PortraitSending {}

/// Connects the agent with the portrait service, which sends the files of the portrait folder instead of the upload
/// machine: passes decisions and news to the service, and keeps its last report of each picture under way.
struct PortraitDesk: Sendable {
    /// The service; `nil` without a portrait folder.
    let service: (any PortraitSending)?
    /// The last report of each picture under way.
    private(set) var reports: [RelativePath: PortraitReport] = [:]

    init(_ service: (any PortraitSending)?) { self.service = service }

    // MARK: Decisions of the path book

    /// Brings the reports in line with a decision, before the paths of the same event are reported.
    mutating func prepare(_ step: PortraitStep) {
        switch step {
        case .forgetReport(let path): reports[path] = nil
        case .renamed(let old, let new): reports[new] = reports.removeValue(forKey: old)
        case .handOver, .removed, .setPaused, .cancelled, .retry: break
        }
    }

    /// Passes a decision to the service. A `handOver` must be durable before.
    func perform(_ step: PortraitStep, _ book: PathBook) {
        switch step {
        case .handOver(let records, let job):
            for record in records.compactMap({ current($0, in: book) }) {
                send(record, job.map(DropOrder.arrived) ?? .found)
            }
        case .removed(let path, let key): service?.handle(.takenBack(path, key, PortraitMachine.removed))
        case .renamed(let old, let new): service?.handle(.renamed(old, new))
        case .setPaused(let path, let isPaused): service?.handle(.paused(path, isPaused))
        case .cancelled(let path, let key): service?.handle(.takenBack(path, key, .cancelledByUser))
        case .retry(let path): service?.handle(.retried(path))
        case .forgetReport: break
        }
    }

    /// Returns the current record of a drop, which may have a new name; `nil` if the drop ended.
    private func current(_ drop: DropRecord, in book: PathBook) -> DropRecord? {
        if let record = book.drops[drop.path], record.key == drop.key { return record }
        return book.drops.values.first { record in
            record.key == drop.key && record.identity?.inode == drop.identity?.inode && book.isPortrait(record.path)
        }
    }

    private func send(_ record: DropRecord, _ order: DropOrder) {
        guard let key = record.key, let identity = record.identity else { return }
        let drop = PortraitDrop(
            path: record.path, key: key, identity: identity, type: record.type ?? .other,
            acceptedAt: record.acceptedAt, isPaused: record.state == .paused)
        service?.handle(.dropped(drop, order))
    }

    // MARK: News

    /// Passes on what concerns all requests, those of the upload machine and the profile picture's.
    func pass(_ event: MachineEvent) {
        switch event {
        case .setAllPaused(let isPaused): service?.handle(.allPaused(isPaused))
        case .setLimits(let limits): service?.handle(.setRetryInterval(limits.retryInterval))
        case .networkChanged: service?.handle(.networkChanged)
        case .credentialsChanged: service?.credentialsChanged()
        default: break
        }
    }

    /// Handles a report of the service.
    ///
    /// - Parameter record: the present record of the report's path.
    /// - Returns: the event for the path book; `nil` if the report is about another file or out of date.
    mutating func take(_ report: PortraitReport, _ record: DropRecord?, _ book: PathBook) -> PathEvent? {
        let path = report.path
        guard let record, record.key == report.key, !record.state.isFinal, book.isPortrait(path) else { return nil }
        reports[path] = report.state.isFinal ? nil : report
        guard report.state.isFinal else { return .portrait(path, report.key, .handedOver) }
        let outcome = PortraitOutcome.ended(
            report.state, report.error, attempts: report.attempts, startedAt: report.startedAt,
            finishedAt: report.finishedAt, url: report.remoteURL)
        return .portrait(path, report.key, outcome)
    }
}

extension MachineEvent {
    /// Whether the event concerns all requests, those of profile pictures too: `PortraitDesk.pass` has an answer to it.
    var concernsPortraits: Bool {
        switch self {
        case .setAllPaused, .setLimits, .networkChanged, .credentialsChanged: true
        default: false
        }
    }
}
