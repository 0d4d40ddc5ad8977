import Intake
import Ledger
import LinuxSystem
import Logging
import Sidecars
import UploadCore

/// The search for strays, and for files whose sidecar somebody deleted. Strays are sidecars and temporary files that
/// belong to no path. They remain after kills, if a file vanished before the ledger knew it, if a directory was renamed
/// while no agent ran, or if `sidecars.directory` changed.
///
/// Not `Sendable`, so the compiler confines it to the thread of its owner. It lists directories on the reader's thread,
/// which answers through `report`. The owner passes these answers back to `handle`.
final class StraySearch {
    /// The result of work on the reader's thread. The owner passes it to `handle`.
    enum News: Sendable {
        /// These strays were found, and are not handled yet.
        case found(ArraySlice<StraySidecar>)
        /// These files have no sidecar, and are not handled yet.
        case bare(ArraySlice<RelativePath>)
        /// The sidecars at the former place are removed.
        case leftFormerPlace
    }

    /// What the owner must do next.
    enum Step: Equatable {
        /// Record an unfinished path with only a sidecar left as cancelled. This rewrites the sidecar.
        case cancelRemoved(RelativePath)
        /// Remove a stray.
        case discard(StraySidecar)
        /// Write the missing sidecars of these files.
        case checkSidecars([RelativePath])
        /// Change the ledger.
        case write(LedgerWrite)
    }

    /// The components that the search uses.
    struct Parts: Sendable {
        var sidecars: SidecarWriter
        var files: OutboxFiles
        var rules: IntakeRules
        var ledger: Ledger
        /// The thread that lists directories.
        var reader: SerialThread
        var logger: Logger
    }

    /// Maximum number of strays handled before other work gets its turn.
    private static let mostAtOnce = 256

    private let parts: Parts
    private let report: @Sendable (News) -> Void
    private var isSearching = false
    /// Whether this run searched the former place of the sidecars.
    private var hasLeftFormerPlace = false
    /// Whether all sidecars stand at the present place, so that those at the former one may go.
    var mayLeaveFormerPlace = false

    init(_ parts: Parts, report: @escaping @Sendable (News) -> Void) {
        self.parts = parts
        self.report = report
    }

    /// Begins a search after a full scan, unless a search is running.
    func begin(_ facts: some StrayFacts) {
        guard !isSearching, facts.isWholeOutbox else { return }
        isSearching = true
        parts.reader.run { [search = search(away: facts.lostMounts), report] in
            let findings = search()
            if !findings.bare.isEmpty { report(.bare(findings.bare[...])) }
            report(.found(findings.strays[...]))
        }
    }

    /// Returns the search itself, for the reader's thread.
    ///
    /// - Parameter away: directories whose file system is not mounted. They are skipped.
    func search(away: Set<RelativePath>) -> @Sendable () -> SidecarSweep.Findings {
        { [parts] in
            parts.sidecars.sweep(parts.files, parts.rules, away: away) { path in
                (try? parts.ledger.drop(at: path)).flatMap(\.self).flatMap { $0.state.isFinal ? $0.state : nil }
            }
        }
    }

    /// Handles a result.
    func handle(_ news: News, _ facts: some StrayFacts) -> [Step] {
        switch news {
        case .found(let strays): return found(strays, facts)
        case .bare(let paths):
            let rest = paths.dropFirst(Self.mostAtOnce)
            if !rest.isEmpty { report(.bare(rest)) }
            return [.checkSidecars(Array(paths.prefix(Self.mostAtOnce)))]
        case .leftFormerPlace: return [.write(presentPlace)]
        }
    }

    private func found(_ strays: ArraySlice<StraySidecar>, _ facts: some StrayFacts) -> [Step] {
        let steps = Self.steps(for: strays.prefix(Self.mostAtOnce), facts)
        if !steps.isEmpty {
            parts.logger.info("sidecars of vanished files are updated", metadata: ["count": "\(steps.count)"])
        }
        let rest = strays.dropFirst(Self.mostAtOnce)
        guard rest.isEmpty else {
            report(.found(rest))
            return steps
        }
        isSearching = false
        return steps + (facts.isWholeOutbox ? leaveFormerPlace() : [])
    }

    /// Decides on strays. A file may have come or gone since the search found its sidecar.
    static func steps(for strays: some Sequence<StraySidecar>, _ facts: some StrayFacts) -> [Step] {
        guard facts.isWholeOutbox else { return [] }
        var steps: [Step] = []
        // A path may have two sidecars. If the first is rewritten, the path has a record from then on.
        var cancelled: Set<RelativePath> = []
        for stray in strays {
            switch stray.subject {
            case .file(let path):
                if facts.isBusy(path) || facts.hasRecord(path) || !facts.isGone(path) || cancelled.contains(path) {
                    continue
                }
                if stray.isUnfinished { cancelled.insert(path) }
                steps.append(stray.isUnfinished ? .cancelRemoved(path) : .discard(stray))
            case .source(let directory):
                if facts.isPost(directory) || facts.isBusy(directory)
                    || !facts.isGone(PostPlaces.description(of: directory))
                {
                    continue
                }
                steps.append(.discard(stray))
            case nil: steps.append(.discard(stray))
            }
        }
        return steps
    }

    // MARK: A changed `sidecars.directory`

    private var presentPlace: LedgerWrite {
        .setting(LedgerSetting.sidecarRoot, Array((parts.sidecars.separateRoot ?? "").utf8))
    }

    /// Removes the sidecars at an earlier `sidecars.directory`, once per run.
    private func leaveFormerPlace() -> [Step] {
        guard mayLeaveFormerPlace, !hasLeftFormerPlace else { return [] }
        hasLeftFormerPlace = true
        let stored = (try? parts.ledger.setting(LedgerSetting.sidecarRoot)).flatMap(\.self)
        let present = parts.sidecars.separateRoot
        let (outbox, root) = (parts.files.outbox, parts.files.root)
        switch FormerSidecars(stored: stored, present: present) {
        case .unchanged: return []
        case .unrecorded: return [.write(presentPlace)]
        case .besideFiles: clear(SidecarStore(beside: outbox), below: root, except: present ?? root)
        case .tree(let former): clear(SidecarStore(mirror: former), below: former, except: present ?? root)
        }
        return []
    }

    private func clear(_ store: SidecarStore, below root: String, except present: String) {
        parts.reader.run { [logger = parts.logger, report] in
            let count = SidecarSweep.all(below: root, except: present).count(where: store.remove)
            logger.notice(
                "sidecars.directory changed, so the agent removed the sidecars at the old place",
                metadata: ["from": "\(root)", "to": "\(present)", "count": "\(count)"])
            report(.leftFormerPlace)
        }
    }
}
