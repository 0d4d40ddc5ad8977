import Intake
import Ledger
import Logging
import Sidecars
import UploadCore

/// Decides what follows from an event.
///
/// Owns path book, posts, upload machine, queue of products and parked uploads, which are values, and answers their
/// questions. Passes an event to one of them and its decisions to the others, until nothing is left to decide. One event
/// makes one commit. The core reads the ledger and looks at files, but changes neither.
///
/// A value asks while it handles an event. So no answer about one value may read that value.
///
/// Not `Sendable`, so the compiler confines it to the thread of its owner.
final class AgentCore {
    /// What the core reads.
    struct Sources: Sendable {
        var ledger: Ledger
        var files: OutboxFiles
        var sidecars: SidecarWriter
        var rules: IntakeRules
        var scope: RemoteScope
        var logger: Logger
    }

    /// What follows from an event.
    struct Decision: Sendable {
        /// A decision that stores nothing.
        static let none = Decision(commit: 0)

        /// Number of the commit.
        let commit: UInt64
        /// Changes for the ledger, all in one commit.
        fileprivate(set) var writes: [LedgerWrite] = []
        /// How many of the writes nothing ever waits for.
        fileprivate var writesAside = 0
        /// What to perform, in order, and whether it must wait until all writes are durable.
        private(set) var steps: [(step: AgentStep, waits: Bool)] = []
        /// Why a user's request has no effect, or none yet.
        fileprivate(set) var refusal: String?
        /// Why users' actions on these files have no effect, or none yet.
        fileprivate(set) var refusals: [RelativePath: String] = [:]

        /// Whether nothing, in this decision or a later one, waits for the writes.
        var isAside: Bool { writesAside == writes.count && !steps.contains(where: \.waits) }
        /// The rows of the journal among the writes.
        var outcomes: [JournalEntry] { writes.compactMap { if case .outcome(let entry) = $0 { entry } else { nil } } }
        /// Whether every step must wait.
        var waitsWholly: Bool { steps.allSatisfy(\.waits) }
        /// What need not wait for the ledger.
        var atOnce: [AgentStep] { select { !$0 } }
        /// What must wait until the writes, and those of earlier decisions that are not aside, are durable.
        var onceDurable: [AgentStep] { select { $0 } }

        private func select(_ isIncluded: (_ waits: Bool) -> Bool) -> [AgentStep] {
            var selected: [AgentStep] = []
            selected.reserveCapacity(steps.count)
            for (step, waits) in steps where isIncluded(waits) { selected.append(step) }
            return selected
        }

        mutating func perform(_ step: AgentStep) { steps.append((step, false)) }
        mutating func performOnceDurable(_ step: AgentStep) { steps.append((step, true)) }
    }

    let sources: Sources
    /// The folder whose pictures are profile pictures.
    let portraitFolder: RelativePath?
    /// The ledger's content, including changes that are not durable yet.
    let stored: LedgerView
    /// The state of the paths under way.
    var book: PathBook
    /// Directories that are posts.
    var posts: Posts
    var machine: UploadMachine
    /// Uploads of accounts that are not signed in.
    var parked = ParkedUploads()
    /// Files that are processed before their upload.
    var products: ProductQueue
    /// The number of the journal's last row, durable or not; `nil` before the first of this run.
    var lastOutcome: UInt64?
    var outbox = KnownOutbox()
    /// Whether a path was forgotten since the last full scan.
    private var hasForgotten = false
    /// Whether the outbox, or a file system below it, was missing at some time of this run.
    private(set) var hasLostPlaces = false

    // State of the event in progress.
    var decision = Decision.none
    private(set) var now = Now(monotonic: MonotonicTime(nanoseconds: 0), wall: WallTime(milliseconds: 0))
    /// The answers to the questions of the path book.
    var answers: PathAnswers?

    /// Creates a core without paths, posts and uploads.
    init(
        _ sources: Sources, rules: PathBook.Rules, machine: UploadMachine,
        products: ProductQueue.Limits = ProductQueue.Limits()
    ) {
        self.sources = sources
        portraitFolder = rules.portraitFolder
        stored = LedgerView(ledger: sources.ledger, scope: sources.scope, logger: sources.logger)
        book = PathBook(rules: rules)
        posts = Posts(rules: Posts.Rules(paths: rules, scope: sources.scope))
        self.machine = machine
        self.products = ProductQueue(limits: products)
    }

    // MARK: Events

    /// Handles events that arrived together, in order. They make one commit.
    func handle(_ events: [AgentEvent], now: Now) -> Decision {
        self.now = now
        decision = Decision(commit: stored.begin())
        for event in events { take(event) }
        startOver(stored.takeLost())
        defer { decision = .none }
        return decision
    }

    func take(_ event: AgentEvent) {
        switch event {
        case .path(let event): take(event)
        case .posts(let event): decision.refusal = tellPosts(event)
        case .uploads(let events): tellMachine(events)
        case .tick:
            take(.path(.tick))
            take(.posts(.tick))
            take(.uploads([.tick]))
            take(.products(.tick))
        case .products(let event): handle(event)
        case .tellPost(let path): tellPost(of: path)
        case .progressed(let directories): for path in directories { posts.noteProgress(of: path, now: now.monotonic) }
        case .allProgressed: _ = posts.noteProgressOfAll(now: now.monotonic)
        case .retireFiles(let directory):
            for path in posts.retirableFiles(of: directory) { decision.perform(.retire(path)) }
        case .retireStuck:
            decision.perform(.recoverHeldFiles)
            for path in book.retirement.takeStuck() { decision.perform(.retire(path)) }
        case .sending(let key): beganToSend(key)
        case .learned(let facts, let key, let isAll): learn(facts, of: key, isAll: isAll)
        case .scanFound(let findings): searchElsewhere(findings)
        case .recogniseOutbox: recogniseOutbox()
        case .setAllPaused(let isPaused):
            tellMachine([.setAllPaused(isPaused)], storing: [.setting(LedgerSetting.allPaused, isPaused ? [1] : nil)])
        case .startOver(let keys): startOver(keys)
        case .compare(let findings, let position): compare(with: findings, from: position)
        case .signedIn(let isOther): giveNobodys(isOther: isOther)
        case .store(let writes): write(writes)
        }
    }

    /// Adds changes of the ledger to the decision. From now on, all reads include them.
    ///
    /// - Parameter isAside: whether nothing ever waits for these changes.
    func write(_ writes: [LedgerWrite], isAside: Bool = false) {
        if isAside { decision.writesAside += writes.count }
        let writes = isAside ? writes : writes + journalWrites(of: writes)
        for write in writes {
            book.note(write)
            if case .forgetDrop = write { hasForgotten = true }
        }
        stored.add(writes, to: decision.commit)
        decision.writes += writes
    }

    /// The changes of a decision are durable.
    func saved(_ decision: Decision) { stored.saved(decision.writes, by: decision.commit) }

    /// When the next `tick` is due.
    func nextDeadline(after now: MonotonicTime) -> MonotonicTime? {
        [machine.nextDeadline(after: now), book.nextDeadline, posts.nextDeadline, products.nextDeadline].compactMap(
            \.self
        ).min()
    }

    private func take(_ event: PathEvent) {
        if divert(event) { return }
        defer { releaseWaiters(after: event) }
        switch event {
        // The watch may not have reported a post yet that must hold the file before the file is sent.
        case .hashed(let path, _, _, .content) where !book.isPortrait(path): tellPosts(.expected(path))
        // The path may be the new name of a file whose upload is under way, and the file may belong to a post.
        case .act(_, let path, isByName: true): tellPosts(.expected(path))
        case .scanned:
            if book.retention.observe(now.wall) {
                write([.setting(LedgerSetting.clock, book.retention.stored)], isAside: true)
            }
        default: break
        }
        let actions = ask { $0.handle(event, now: now, facts: self) }
        carryOut(actions)
        for case .refuse(let reason) in actions {
            decision.refusal = reason
            if case .act(_, let path, _) = event { decision.refusals[path] = reason }
        }
        switch event {
        case .outboxBack(isSame: false, _): logElsewhere()
        case .scanned(let findings):
            if hasForgotten || mayMiss(findings) { decision.perform(.handle(.compare(findings, from: .first))) }
            hasForgotten = false
        case .mountLost, .outboxLost: hasLostPlaces = true
        default: break
        }
    }

    // MARK: Scans

    /// Whether the ledger may know paths that a full scan did not find. If it forgot a path during the scan, the numbers
    /// may be equal by chance.
    private func mayMiss(_ findings: any ScanFindings) -> Bool {
        stored.asked { () throws(LedgerError) in try sources.ledger.dropCount() } != findings.knownCount
    }

    /// Compares a page of the ledger's paths with a full scan. The next page follows after all queued work.
    private func compare(with findings: any ScanFindings, from position: DropPosition) {
        let page = stored.asked { () throws(LedgerError) in try stored.page(from: position) }
        guard let page, !book.outboxIsLost else { return }
        take(.path(.compared(page.drops, with: findings)))
        if let next = page.next { decision.perform(.handleLater(.compare(findings, from: next))) }
    }

    // MARK: Accounts and outbox

    private func giveNobodys(isOther: Bool) {
        guard let present = book.ownership.present else { return }
        write(ask { $0.giveNobodys(to: present, isOther: isOther, facts: self) })
        tellPosts(.signedIn(present))
    }

    /// Compares the outbox with the one of the last run. If it is another one, or the empty mount point of an absent
    /// medium, the files of the old outbox do not count as removed.
    private func recogniseOutbox() {
        guard let present = sources.files.identity, outbox.differs(from: present) else { return }
        take(.path(.outboxBack(isSame: false, descriptions: posts.descriptions)))
        take(.posts(.outboxBack(isSame: false)))
    }

    private func logElsewhere() {
        reportElsewhere()
        guard !book.elsewhere.isEmpty else { return }
        decision.perform(
            .log(
                .warning,
                "the outbox is another directory than before; the agent waits for missing files and cancels none",
                ["outbox": "\(sources.files.root)", "files": "\(book.elsewhere.count)"]))
    }

    /// Reports how many files of another outbox wait for it.
    private func reportElsewhere() {
        let isOther = outbox.differs(from: sources.files.identity)
        let count = isOther ? book.elsewhere.count - posts.descriptions.count(where: book.elsewhere.contains) : 0
        decision.perform(.problem(.formerOutbox, outbox.describeMissing(count, in: sources.files.root)))
    }

    private func searchElsewhere(_ findings: any ScanFindings) {
        let descriptions = Set(posts.descriptions)
        ask { $0.findElsewhere(findings, facts: self, isPost: descriptions.contains) }
        decision.perform(.reportReturned)
        write(
            outbox.adopt(
                sources.files.identity, path: sources.files.root, awaitsFiles: !book.elsewhere.isEmpty))
        reportElsewhere()
    }

    /// Lets go of all files on their way out of the outbox, before the agent ends.
    func letGoOfRetiring() { book.retirement.letGo() }
}
