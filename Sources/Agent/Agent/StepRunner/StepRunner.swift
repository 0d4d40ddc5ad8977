import Clocks
import AgentConfiguration
import ControlAPI
import Hooks
import Intake
import Ledger
import LinuxSystem
import Logging
import Portrait
import Products
import Remotes
import Reports
import Session
import Sidecars
import UploadCore

/// Performs the steps that the parts of the agent decide on: requests, hashing, examinations, reports, and files that
/// leave the outbox. It owns what performs them.
///
/// Not `Sendable`, so the compiler confines it to the thread of its owner. The results of work that takes time reach the
/// owner through `report`. The owner passes them to `take`.
final class StepRunner {
    /// The result of work that a step began.
    enum News: Sendable {
        case requests(RequestRunner.News)
        case thumbnails(Thumbnails.News)
        case strays(StraySearch.News)
        case products(ProductRunner.News)
        case portrait(PortraitReport)
        /// So many bytes of a large file are hashed.
        case hashing(RelativePath, job: UInt64, bytes: UInt64)
        /// A file can't be read because its file system does not answer, or can again.
        case stalled(RelativePath, job: UInt64, Bool)
        /// A hash job ended. When it began, the file had this identity.
        case hashed(RelativePath, FileIdentity, job: UInt64, HashFinding)
        /// New, changed or removed credentials. `isLogout`: the user discarded the token in use.
        case credentials(isLogout: Bool)
        /// The sidecars of a page of `CatchUp` are checked.
        case caughtUp
        /// The next page of `CatchUp` is due.
        case catchUp
        /// What follows needs no judgement.
        case steps([AgentStep])
    }

    private let parts: UploaderParts
    private let core: AgentCore
    /// Whether the agent is ending. Nothing new begins then.
    private let isEnding: () -> Bool
    private let report: @Sendable (News) -> Void
    /// Asks the watch to let a path settle again.
    var reconsider: @Sendable (RelativePath) -> Void = { _ in }

    private let requests: RequestRunner
    private let retirement: RetirementRunner
    /// Examines pictures and videos; `nil` if the configuration disables it.
    private let thumbnails: Thumbnails?
    /// Makes products; `nil` if no type of file has a recipe.
    private let products: ProductRunner?
    let strays: StraySearch
    private let catchUp: CatchUp
    /// Whether a `catchUp` is queued.
    private var isCatchUpQueued = false
    private(set) var portraits: PortraitDesk
    private var reporter: Reporter
    private(set) var formerNames = FormerNames()
    var status: AgentStatus

    /// - Parameters:
    ///   - reader: the thread that lists directories.
    ///   - isEnding: whether the agent is ending.
    init(
        _ parts: UploaderParts, _ core: AgentCore, reader: SerialThread, isEnding: @escaping () -> Bool,
        report: @escaping @Sendable (News) -> Void
    ) {
        (self.parts, self.core, self.isEnding, self.report) = (parts, core, isEnding, report)
        requests = RequestRunner(
            RequestRunner.Parts(
                remote: parts.remote, sources: parts.sources, files: parts.files, ledger: parts.ledger,
                products: parts.products?.folder, secret: parts.secret, clock: parts.clock)
        ) { report(.requests($0)) }
        retirement = RetirementRunner(
            holding: parts.holding, files: parts.files, hashPool: parts.hashPool, fate: parts.fate,
            logger: parts.logger
        ) { report(.steps([.path(.retirement($0, $1))])) }
        thumbnails = parts.media.map {
            Thumbnails(media: $0, room: parts.afterUpload == .keep ? parts.examinationRoom : nil) {
                report(.thumbnails($0))
            }
        }
        products = parts.products.map { ProductRunner($0, clock: parts.clock) { report(.products($0)) } }
        strays = StraySearch(
            StraySearch.Parts(
                sidecars: parts.sidecars, files: parts.files, rules: parts.rules, ledger: parts.ledger,
                reader: reader, logger: parts.logger)
        ) { report(.strays($0)) }
        catchUp = CatchUp(parts.sidecars, examines: parts.media != nil) { report(.caughtUp) }
        portraits = PortraitDesk(parts.portrait?.service)
        reporter = Reporter(sidecars: parts.sidecars, events: parts.events, logger: parts.logger)
        status = AgentStatus(
            version: parts.version, processID: parts.processID, startedAt: parts.clock.now.monotonic,
            events: parts.events)
        if products != nil { status.counters.products = UploadCounters.Products() }
    }

    // MARK: Steps

    /// Tells of rows of the journal that are durable now.
    func tell(_ outcomes: [JournalEntry]) {
        if outcomes.isEmpty { return }
        let world = world
        for entry in outcomes { reporter.tell(entry, world) }
    }

    /// Performs a step. The owner itself handles `handle` and `checkLedger`.
    ///
    /// - Returns: the steps that follow.
    func perform(_ step: AgentStep) -> [AgentStep] {
        switch step {
        case .handle, .checkLedger: return [step]
        case .handleLater(let event): report(.steps([.handle(event)]))
        case .problem(let problem, let message): status.problems[problem] = message
        case .deferring(let isDeferring): status.isDeferring = isDeferring
        case .log(let level, let message, let metadata):
            parts.logger.log(level: level, "\(message)", metadata: metadata.mapValues { .string($0) })
        case .ledgerFailed(let error): ledgerFailed(error)
        case .report(let paths): return reportFiles(paths)
        case .reportDelayed: return progressed(reporter.reportDelayed(world))
        case .reportUploads(let keys): return reportUploads(keys)
        case .reportAllUploads: return reportUploads(core.machine.keys) + [.handle(.allProgressed)]
        case .reportPost(let directory): reporter.report(post: directory, world)
        case .reportPosts: reporter.restorePosts(world)
        case .reportReturned: reporter.writeWithheld(world)
        case .announceGone(let path): parts.events.publish(gone: path)
        case .announcePostGone(let id, let directory): parts.events.publish(sourceGone: id, directory)
        case .removeSidecar(let path): parts.sidecars.remove(path)
        case .removePostSidecar(let directory): parts.sidecars.remove(source: directory)
        case .checkSidecars(let paths):
            let world = world
            for path in paths { if let record = core.record(of: path) { catchUp.check(record, world, core.outbox) } }
        case .discard(let stray): parts.sidecars.discard(stray)
        case .count(let outcome, _):
            status.counters.ended(outcome)
            thumbnails?.noteProgress()
        case .reportCommit(let id):
            return core.posts.directory(withID: id).map { [.handle(.progressed([$0]))] } ?? []
        case .endCommit(let id, let revision, let outcome):
            guard let directory = core.posts.directory(withID: id) else { return [] }
            reporter.logCommit(ofPost: directory, outcome)
            return [.posts(.commitEnded(id: id, revision: revision, outcome))]
        case .request(let action): return request(action)
        case .endUpload(let key):
            if !core.machine.holds(key) { requests.forget(key) }
            return [.releaseProduct(key)]
        case .takeAgain(let path, let key): return takeAgain(path, key)
        case .settle(let path): reconsider(path)
        case .hash(let path, let identity, let job): hash(path, identity, job)
        case .renamed(let old, let new, let key):
            formerNames.record(old, renamedTo: new)
            if let key { requests.renamed(old, of: key) }
            // A search for contents left out may have passed the new name, but not the old one.
            if thumbnails?.isSettled == false { return [.examine(new)] }
        case .readDescription(let directory): return readDescription(of: directory)
        case .makeProduct(let job): if !isEnding() { products?.make(job) }
        case .stopMaking(let id): products?.stop(id)
        case .releaseProduct(let key):
            guard let products, core.products.isRemovable(key), !core.needsProduct(key) else { return [] }
            requests.closeFile(of: key)
            products.remove(key)
            return [.handle(.products(.released(key)))]
        case .sweepProducts: products?.sweep()
        case .examine(let path): return core.record(of: path).map { examine($0) } ?? []
        case .releaseThumbnail(let key): return thumbnails?.release(key, core).map(AgentStep.init) ?? []
        case .sweepThumbnails: thumbnails?.sweep()
        case .tellPortraits(let event): portraits.service?.handle(event)
        case .preparePortrait(let step): portraits.prepare(step)
        case .performPortrait(let step): portraits.perform(step, core.book)
        case .passToPortraits(let event): portraits.pass(event)
        case .watchForToken: parts.session.watch { [report] in report(.credentials(isLogout: false)) }
        case .stopWatchingForToken: parts.session.stopWatching()
        case .retire(let path): return retire(path)
        case .retirement(let path, let step):
            return retirement.carryOut(step, on: path, isStuck: status.problems[.afterUpload] != nil)
        case .retirePost(let directory): return retire(post: directory)
        case .moveSidecar(let directory, let target, let report):
            retirement.moveSidecar(ofPost: directory, to: target, report, parts.sidecars)
        case .recoverHeldFiles: retirement.recover(except: core.book.retirement.held)
        case .catchUp: return proceedCatchUp()
        case .searchStrays: if !isEnding() { strays.begin(core) }
        case .trimJournal: return trimJournal()
        case .forgetNotice: status.forgetNotice(at: parts.clock.now.monotonic)
        case .leaveOutbox:
            // Pending sidecars belong to the old outbox and have no place in this one.
            parts.sidecars.forgetPending()
            catchUp.skip()
            try? parts.files.outbox.repin()
        }
        return []
    }

    // MARK: News

    /// Handles the result of work.
    ///
    /// - Returns: the steps that follow.
    func take(_ news: News) -> [AgentStep] {
        switch news {
        case .requests(.ended(let id, let events, let wasSending)):
            if wasSending { status.counters.ended(sending: events) }
            let sizes = requests.end(id, events, core.uploadFacts)
            for size in sizes { status.counters.acknowledged(bytes: size) }
            if wasSending {
                let failed = events.count { if case .failed = $0 { true } else { false } }
                status.recent.record(acknowledged: sizes, failed: failed, at: parts.clock.now.monotonic)
            }
            return [.uploads(events)]
        case .requests(.reached(let id, let bytes, let event)):
            guard let key = requests.reach(bytes, by: id) else { return [] }
            if let event { return [.uploads([event])] }
            reporter.reportProgress(of: core.machine.waiters(of: key), world)
        case .requests(.ledgerFailed(let error)): ledgerFailed(error)
        case .thumbnails(.measured(let path, let identity, let facts)):
            return [.path(.measured(path, identity, facts))]
        case .thumbnails(let news):
            if isEnding() { return [] }
            let steps = thumbnails?.handle(news, core).map(AgentStep.init) ?? []
            queueCatchUp()
            return steps
        case .strays(let news): return take(news)
        case .products(.stored(let sizes)): return sweep(sizes)
        case .products(.event(let event, let took)):
            if let size = products?.end(event) {
                status.counters.products?.ended(event, originalSize: size, took: took)
            }
            return isEnding() ? [] : [.handle(.products(event))]
        case .portrait(let report):
            return portraits.take(report, core.record(of: report.path), core.book).map { [.path($0)] } ?? []
        case .hashing(let path, let job, let bytes):
            return isEnding() ? [] : [.path(.hashing(path, job: job, bytes: bytes))]
        case .stalled(let path, let job, let isStalled):
            return isEnding() ? [] : [.path(.stalled(path, job: job, isStalled))]
        case .hashed(let path, let identity, let job, let finding):
            if case .content(let identity, _, _, _) = finding { status.counters.bytesHashed += identity.size }
            thumbnails?.noteProgress()
            return isEnding() ? [] : [.path(.hashed(path, job: job, as: identity, finding))]
        case .credentials(let isLogout):
            return SessionSteps.credentialsChanged(
                isLogout: isLogout, isSignedOut: parts.session.isSignedOut,
                wasSignedOut: core.machine.signedOut != nil, isReported: status.problems[.session] != nil)
        case .caughtUp:
            catchUp.checked()
            // Sidecars at a former place may go after the last page.
            return [catchUp.isOver ? .searchStrays : .catchUp]
        case .catchUp:
            isCatchUpQueued = false
            return [.catchUp]
        case .steps(let steps): return steps
        }
        return []
    }

    /// Removes the products of an earlier run that nothing needs.
    private func sweep(_ sizes: [ContentKey: UInt64]) -> [AgentStep] {
        let needed = sizes.filter { core.needsProduct($0.key) }
        for key in sizes.keys where needed[key] == nil { products?.remove(key) }
        return needed.isEmpty ? [] : [.handle(.products(.found(needed)))]
    }

    private func take(_ news: StraySearch.News) -> [AgentStep] {
        // After `leftFormerPlace` the former sidecars are gone. So the ledger stores the new place even while the agent ends.
        if case .found = news, isEnding() { return [] }
        strays.mayLeaveFormerPlaces = catchUp.isComplete
        return strays.handle(news, core).map(AgentStep.init)
    }

    /// Records that the ledger can't be read.
    func ledgerFailed(_ error: LedgerError) {
        let reason = "\(error)"
        // Logged once for each reason, not for each file of a scan.
        if status.problems[.ledger] != reason {
            parts.logger.error("the ledger can't be read", metadata: ["reason": "\(reason)"])
        }
        status.problems[.ledger] = reason
    }

    // MARK: Start and end

    /// Starts the portrait service with the pictures that were under way when the agent ended.
    func startPortraits(isAllPaused: Bool) {
        portraits.service?.start(
            PortraitOutlets(
                report: { [report] in report(.portrait($0)) },
                reconsider: { [report] in report(.steps([.path(.lookAgain($0))])) },
                sessionRefused: { [report] in report(.steps(SessionSteps.portraitRefused($0))) },
                announce: { [events = parts.events] _, profile in events.publish(profile: profile) }),
            isAllPaused: isAllPaused)
    }

    /// What the ledger says when nothing is left to catch up on.
    var caughtUpMark: [UInt8] {
        CatchUp.mark(
            parts.sidecars, outbox: parts.files.identity, drawsThumbnails: parts.media?.drawsThumbnails)
    }

    /// Whether the next run would have nothing to catch up on if this one ended now.
    var isCaughtUp: Bool {
        catchUp.isComplete && thumbnails?.isSettled != false && !reporter.withholds && !core.hasLostPlaces
            && core.book.elsewhere.isEmpty && !core.outbox.differs(from: parts.files.identity)
    }

    /// Begins to make up for what the last run left.
    func beginToCatchUp() { catchUp.begin() }

    /// Has the next page of the ledger handled after all queued work, unless it must wait.
    private func queueCatchUp() {
        let isDue = catchUp.isOver ? thumbnails?.maySearch == true : catchUp.mayProceed && thumbnails?.isCrowded != true
        guard isDue, !isCatchUpQueued else { return }
        isCatchUpQueued = true
        report(.catchUp)
    }

    private func proceedCatchUp() -> [AgentStep] {
        if isEnding() { return [] }
        if catchUp.isOver, let thumbnails, thumbnails.maySearch {
            thumbnails.beginSearch()
            catchUp.beginExaminations()
        }
        if catchUp.isOver { return [] }
        let page = catchUp.proceed(world, outbox: core.outbox, isCrowded: thumbnails?.isCrowded == true)
        let orphans = page.awaited.isEmpty ? [] : [AgentStep.handle(.startOver(page.awaited))]
        let examinations = page.toExamine.flatMap { examine($0, isFound: true) }
        queueCatchUp()
        return orphans + examinations
    }

    /// Cancels all requests.
    func cancelRequests() {
        parts.session.stopWatching()
        requests.cancelAll()
        products?.stopAll()
    }

    /// Removes a page of rows that are older than the configuration wants.
    private func trimJournal() -> [AgentStep] {
        let oldest = parts.clock.now.wall.advanced(by: .zero - parts.historyKeep).milliseconds
        let page = core.stored.asked { () throws(LedgerError) in
            try core.stored.ledger.journal(after: 0, atMost: 512)
        }
        let needed = parts.hooks?.firstNeeded ?? .max
        let old = (page ?? []).prefix { $0.row.time.milliseconds <= oldest && $0.number < needed }
        guard let last = old.last else { return [] }
        if old.count == page?.count { report(.steps([.trimJournal])) }
        return [.handle(.store([.trimJournal(before: last.number + 1)]))]
    }

    // MARK: Reports

    /// What reports say at this moment.
    var world: ReportWorld {
        let now = parts.clock.now
        return ReportWorld(
            core: core, portraits: portraits.reports, transfers: requests.figures, requestCount: requests.count,
            context: ReportContext(remoteProtocol: parts.remoteProtocol, now: now.wall),
            now: now.monotonic)
    }

    private func reportFiles(
        _ paths: some Collection<RelativePath>
    ) -> [AgentStep] {
        if paths.isEmpty { return [] }
        return progressed(reporter.report(paths, world))
    }

    private func progressed(_ posts: Set<RelativePath>) -> [AgentStep] {
        posts.isEmpty ? [] : [.handle(.progressed(posts))]
    }

    /// When delayed reports are due; `nil` if there are none.
    var reportDeadline: MonotonicTime? { reporter.deadline }

    private func reportUploads(_ keys: some Collection<ContentKey>) -> [AgentStep] {
        let steps = reportFiles(keys.flatMap { core.machine.waiters(of: $0) })
        for key in keys { requests.closeIdleFile(of: key, core.uploadFacts) }
        return steps
    }

    private func readDescription(of directory: RelativePath) -> [AgentStep] {
        let result = SourceDescriptionReader(files: parts.files).read(directory)
        if case .failure(let error) = result, !error.retryable { reporter.logRejection(ofPost: directory, error) }
        return [.posts(.read(directory, result))]
    }

    // MARK: Requests, hashing and examination

    /// Begins a request. If it can't begin, its failure follows.
    private func request(_ action: MachineAction) -> [AgentStep] {
        let events = requests.perform(action, core.uploadFacts)
        guard events.isEmpty else { return [.uploads(events)] }
        guard case .send(_, let key, _, _) = action else { return [] }
        status.counters.beganToSend()
        return core.awaitsBegin(key) ? [.handle(.sending(key))] : []
    }

    private func takeAgain(_ path: RelativePath, _ key: ContentKey) -> [AgentStep] {
        requests.closeFile(of: key)
        return core.book.drops[path]?.key == key ? [.path(.lookAgain(path))] : []
    }

    private func hash(_ path: RelativePath, _ identity: FileIdentity, _ job: UInt64) {
        parts.hashPool.add(
            HashPool.Job(
                path: path, identity: identity, sniffed: thumbnails?.earlyLook,
                hashed: { [report] in report(.hashing(path, job: job, bytes: $0)) },
                stalled: { [report] in report(.stalled(path, job: job, $0)) },
                done: { [report] in report(.hashed(path, identity, job: job, $0)) }))
    }

    /// Queues the content of a record for examination, unless the examination would add nothing.
    func examine(_ record: DropRecord, isFound: Bool = false) -> [AgentStep] {
        isEnding() ? [] : thumbnails?.examine(record, core, isFound: isFound).map(AgentStep.init) ?? []
    }

    // MARK: Files that leave the outbox

    /// Begins to move or delete a file whose content the server confirmed, unless a thumbnail or a post needs the file.
    private func retire(_ path: RelativePath) -> [AgentStep] {
        guard parts.afterUpload != .keep, !isEnding(), let record = core.record(of: path),
            record.disposal == .pending, thumbnails?.hold(record) != true, !core.posts.keeps(record)
        else { return [] }
        return [.path(.retirement(path, .confirmed))]
    }

    /// Moves or deletes the `source.toml` of a confirmed post after its files.
    private func retire(post directory: RelativePath) -> [AgentStep] {
        guard let departure = retirement.retire(post: directory) else { return [] }
        let target = departure.destination
        let report = target.flatMap { world.report(ofPost: directory, movedTo: $0) }
        return [.posts(.retired(directory)), .moveSidecar(directory, to: target, report)]
    }
}
