import ControlAPI
import Ledger
import LinuxSystem
import Logging
import Synchronization
import UploadCore

/// Lists among the problems that the ledger, or sidecars, can't be written. Logs once when the ledger can't be written, and
/// once when it can again. While the agent starts, the control interface refuses requests with this reason.
final class TroubleReporter: Sendable {
    private let logger: Logger
    private let uploader = Mutex<Uploader?>(nil)
    private let end: AgentEnd
    private let readiness: Readiness
    /// The file systems that do not answer, as far as the log says so.
    private let told = Mutex<Set<String>>([])

    init(logger: Logger, end: AgentEnd, readiness: Readiness) {
        self.logger = logger
        self.readiness = readiness
        self.end = end
    }

    /// Sets the uploader that shows the problems.
    func tell(_ uploader: Uploader) {
        self.uploader.withLock { $0 = uploader }
    }

    func note(_ trouble: LedgerTrouble?) {
        if let trouble {
            logger.error(
                "the ledger can't be written; uploads wait until it can",
                metadata: ["reason": "\(trouble.message)", "remedy": "\(trouble.remedy)"])
            // From here on, nothing can be made durable.
            if trouble.kind == .damaged { end.raise(.ledgerDamaged(trouble.message)) }
        } else {
            logger.notice("the ledger can be written again")
        }
        // A refused change does not hold the start up.
        if trouble?.kind != .refusedChange { readiness.setObstacle(trouble?.description) }
        uploader.withLock(\.self)?.run { $0.status.recordLedgerTrouble(trouble?.description) }
    }

    /// Lists file systems that do not answer among the problems. Once one does, everything that waits is tried again.
    func note(stalls: [Stalls.Stall]) {
        var places: [(name: String, works: [String])] = []
        for stall in stalls {
            if places.last?.name != stall.place { places.append((stall.place, [])) }
            places[places.count - 1].works.append(stall.work)
        }
        for place in places where told.withLock({ $0.insert(place.name).inserted }) {
            logger.warning(
                "a file system does not answer; its files wait, all others go on",
                metadata: ["path": "\(place.name)", "call": "\(place.works[0])", "remedy": "\(Self.stallRemedy)"])
        }
        let back = told.withLock { told in
            defer { told.formIntersection(places.map(\.name)) }
            return told.subtracting(places.map(\.name)).sorted()
        }
        for place in back { logger.notice("a file system answers again", metadata: ["path": "\(place)"]) }
        let message = places.map { place in
            let more = place.works.count > 1 ? " and \(place.works.count - 1) more calls" : ""
            return "\(place.name) does not answer (\(place.works[0])\(more)); its files wait, all others go on"
        }.joined(separator: "; ")
        let problem = places.isEmpty ? nil : "\(message); \(Self.stallRemedy)"
        let isAnyBack = !back.isEmpty
        uploader.withLock(\.self)?.run { uploader in
            uploader.status.problems[.storage] = problem
            if isAnyBack { uploader.handle(.uploads([.networkChanged])) }
        }
    }

    private static let stallRemedy = "check its device or server, or unmount it"

    func note(sidecars message: String?) {
        uploader.withLock(\.self)?.run { $0.status.problems[.sidecars] = message }
    }
}
