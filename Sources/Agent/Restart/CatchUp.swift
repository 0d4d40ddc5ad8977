import Intake
import Ledger
import LedgerCare
import Sidecars
import UploadCore

/// Makes up, beside all other work, for what the end of the last run prevented: missing or outdated sidecars, and
/// examinations of pictures and videos. After an orderly end, nothing is left to make up for.
///
/// Goes through the ledger page by page. The next page follows once the sidecars of the last one are checked, and few
/// examinations wait.
///
/// Not `Sendable`, so the compiler confines it to the thread of its owner.
final class CatchUp {
    private let sidecars: SidecarWriter
    private let onceChecked: @Sendable () -> Void
    /// Where the next page begins; `nil` if no page is left.
    private var next: DropPosition?
    private var isChecking = false

    /// - Parameter onceChecked: called on another thread when the sidecars of a page are checked. The owner then calls
    ///   `checked`.
    init(_ sidecars: SidecarWriter, onceChecked: @escaping @Sendable () -> Void) {
        (self.sidecars, self.onceChecked) = (sidecars, onceChecked)
    }

    /// Whether nothing is left.
    var isOver: Bool { next == nil && !isChecking }

    /// Goes through all paths from now on.
    func begin() { next = .first }

    /// Handles the next page, unless the last one is unfinished.
    ///
    /// - Parameter outbox: the outbox of the last run. Ended files of another outbox get no sidecars in this one.
    /// - Returns: the records of ended paths, to be examined.
    func proceed(_ world: ReportWorld, outbox: KnownOutbox) -> [DropRecord] {
        guard let position = next, !isChecking else { return [] }
        let stored = world.paths.stored
        // After a failed read, `isOver` stays false: the next start tries again.
        guard let page = stored.asked({ () throws(LedgerError) in try stored.page(from: position) }) else { return [] }
        next = page.next
        isChecking = true
        let isOtherOutbox = outbox.differs(from: world.paths.files.identity)
        var ended: [DropRecord] = []
        for record in page.drops where world.book.drops[record.path] == nil {
            if record.state.isFinal { ended.append(record) }
            if case .moved(let old) = record.disposal, world.record(of: old) == nil { sidecars.remove(old) }
            if record.isTrace || isOtherOutbox || world.book.isMissing(record.path) { continue }
            sidecars.repair(world.report(of: record))
        }
        sidecars.onceChecked(onceChecked)
        return ended
    }

    /// The sidecars of the last page are checked.
    func checked() { isChecking = false }

    /// Returns the value of `LedgerSetting.caughtUp` for this machine start and configuration. Sidecars written shortly
    /// before a power cut may be lost, so the value of another machine start does not count.
    ///
    /// - Parameter drawsThumbnails: `nil` if pictures and videos are not examined at all.
    static func mark(_ sidecars: SidecarWriter, drawsThumbnails: Bool?) -> [UInt8] {
        let thumbnails = drawsThumbnails.map { $0 ? "drawn" : "off" } ?? "none"
        return Array("\(LedgerMarkFile.bootID()) \(thumbnails) \(sidecars.kind)".utf8)
    }
}
