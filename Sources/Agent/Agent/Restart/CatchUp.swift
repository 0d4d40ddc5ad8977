import Intake
import Ledger
import Sidecars
import UploadCore

/// Makes up, beside all other work, for what the end of the last run prevented: outdated or missing sidecars, paths
/// without an upload, and examinations of pictures and videos.
///
/// Goes through the ledger page by page, twice. First, the next page follows once the sidecars of the last one are
/// checked; then, while few examinations wait. During a run, it searches again for contents whose examination was left
/// out (`Thumbnails.hasLeftOut`).
///
/// Not `Sendable`, so the compiler confines it to the thread of its owner.
final class CatchUp {
    private enum Pass {
        case sidecars(DropPosition)
        case examinations(DropPosition)
    }

    /// What else to do about the paths of a page.
    struct Page {
        /// Paths whose content may have to be examined.
        var toExamine: [DropRecord] = []
        /// The contents that paths wait for. The ledger may lack their uploads.
        var awaited: [ContentKey] = []
    }

    private let sidecars: SidecarWriter
    private let examines: Bool
    private let onceChecked: @Sendable () -> Void
    /// Where the next page begins; `nil` if no page is left.
    private var next: Pass?
    private var isChecking = false
    private var hasSkipped = false

    /// - Parameters:
    ///   - examines: whether pictures and videos are examined at all.
    ///   - onceChecked: called on another thread when the sidecars of a page are checked. The owner then calls `checked`.
    init(_ sidecars: SidecarWriter, examines: Bool, onceChecked: @escaping @Sendable () -> Void) {
        (self.sidecars, self.examines, self.onceChecked) = (sidecars, examines, onceChecked)
    }

    /// Whether nothing is left.
    var isOver: Bool { next == nil && !isChecking }

    /// Whether nothing is left, also not for the next run. If a path had no place for its sidecar, the next run checks
    /// all again.
    var isComplete: Bool { isOver && !hasSkipped }

    /// Whether the next page need not wait for sidecars.
    var mayProceed: Bool { next != nil && !isChecking }

    /// Goes through all paths from now on.
    func begin() { next = .sidecars(.first) }

    /// Searches all paths for contents to examine.
    func beginExaminations() { next = .examinations(.first) }

    /// Leaves something to the next run.
    func skip() { hasSkipped = true }

    /// Handles the next page, unless it must wait.
    ///
    /// - Parameters:
    ///   - outbox: the outbox of the last run. Its files get no sidecars in another outbox.
    ///   - isCrowded: whether many examinations wait.
    func proceed(_ world: ReportWorld, outbox: KnownOutbox, isCrowded: Bool) -> Page {
        guard !isChecking else { return Page() }
        switch next {
        case .sidecars(let position): return checkSidecars(from: position, world, outbox)
        case .examinations(let position) where !isCrowded:
            guard let (drops, after) = page(from: position, world) else { return Page() }
            next = after.map { .examinations($0) }
            return Page(toExamine: drops)
        case .examinations, nil: return Page()
        }
    }

    private func checkSidecars(from position: DropPosition, _ world: ReportWorld, _ outbox: KnownOutbox) -> Page {
        guard let (drops, after) = page(from: position, world) else { return Page() }
        next = after.map { .sidecars($0) } ?? (examines ? .examinations(.first) : nil)
        isChecking = true
        for record in drops {
            if case .moved(let old) = record.disposal, world.record(of: old) == nil { sidecars.remove(old) }
            check(record, world, outbox)
        }
        sidecars.onceChecked(onceChecked)
        let waiting = drops.filter { !$0.state.isFinal && world.book.drops[$0.path] == nil }
        return Page(awaited: waiting.compactMap(\.key))
    }

    /// Returns some paths, and where the next page begins. Leaves everything to the next run if they can't be read.
    private func page(
        from position: DropPosition, _ world: ReportWorld
    ) -> (drops: [DropRecord], next: DropPosition?)? {
        let stored = world.core.stored
        let page = stored.asked { () throws(LedgerError) in try stored.page(from: position) }
        if page == nil {
            next = nil
            skip()
        }
        return page
    }

    /// Has the sidecar of a path checked, unless the path is under way: then reports of it follow.
    func check(_ record: DropRecord, _ world: ReportWorld, _ outbox: KnownOutbox) {
        if world.book.drops[record.path] != nil || record.isTrace { return }
        if world.book.isMissing(record.path) || outbox.differs(from: world.core.sources.files.identity) {
            return skip()
        }
        sidecars.repair(world.report(of: record))
    }

    /// The sidecars of the last page are checked.
    func checked() { isChecking = false }

    /// Returns the value of `LedgerSetting.caughtUp` for this machine start, outbox and configuration. Sidecars written
    /// shortly before a power cut may be lost, so the value of another machine start does not count.
    ///
    /// - Parameters:
    ///   - outbox: the identity of the present outbox (`OutboxFiles.identity`).
    ///   - drawsThumbnails: `nil` if pictures and videos are not examined at all.
    static func mark(_ sidecars: SidecarWriter, outbox: [UInt8]?, drawsThumbnails: Bool?) -> [UInt8] {
        let thumbnails = drawsThumbnails.map { $0 ? "drawn" : "off" } ?? "none"
        return Array("\(LedgerMarkFile.bootID()) \(thumbnails) \(sidecars.kind) ".utf8) + (outbox ?? [])
    }
}
