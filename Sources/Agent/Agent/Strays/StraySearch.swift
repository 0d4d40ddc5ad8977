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
        /// The sidecars at former places are removed.
        case leftFormerPlaces
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
    /// Whether this run searched the former places of the sidecars.
    private var hasLeftFormerPlaces = false
    /// Whether all sidecars stand at the present place, so that those at former ones may go.
    var mayLeaveFormerPlaces = false

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
        case .leftFormerPlaces:
            return [.write(Self.record(of: SidecarPlaces(only: parts.sidecars.separateRoot)))]
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
        if facts.isWholeOutbox { leaveFormerPlaces() }
        return steps
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
                // A post that was moved into another one leaves its sidecar behind.
                if facts.isPost(directory) || facts.isBusy(directory)
                    || !facts.isInPost(directory) && !facts.isGone(PostPlaces.description(of: directory))
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

    /// Returns the change of the ledger that must precede the first sidecar at the present place. Should the agent end
    /// before it has removed those at former places, the next run knows all places, wherever its own sidecars are.
    func recordOfPlaces() throws(LedgerError) -> LedgerWrite { Self.record(of: try places()) }

    private func places() throws(LedgerError) -> SidecarPlaces {
        SidecarPlaces(
            stored: try parts.ledger.setting(LedgerSetting.sidecarPlaces), present: parts.sidecars.separateRoot)
    }

    private static func record(of places: SidecarPlaces) -> LedgerWrite {
        .setting(LedgerSetting.sidecarPlaces, places.bytes)
    }

    /// Removes the sidecars at earlier values of `sidecars.directory`, once per run.
    private func leaveFormerPlaces() {
        guard mayLeaveFormerPlaces, !hasLeftFormerPlaces, let places = try? places() else { return }
        hasLeftFormerPlaces = true
        if places.former.isEmpty { return }
        parts.reader.run { [parts, report] in
            for former in places.former { Self.clear(former, parts) }
            report(.leftFormerPlaces)
        }
    }

    private static func clear(_ former: String, _ parts: Parts) {
        let (outbox, files) = (parts.files.outbox, parts.files.root)
        let store = former.isEmpty ? SidecarStore(beside: outbox) : SidecarStore(mirror: former)
        let root = former.isEmpty ? files : former
        let present = parts.sidecars.separateRoot ?? files
        let count = SidecarSweep.all(below: root, except: present).count(where: store.remove)
        parts.logger.notice(
            "sidecars.directory changed, so the agent removed the sidecars at the old place",
            metadata: ["from": "\(root)", "to": "\(present)", "count": "\(count)"])
    }
}

/// The places that may hold sidecars: the present one, and those of earlier values of `sidecars.directory` until the agent
/// has removed the sidecars there.
struct SidecarPlaces: Equatable, Sendable {
    /// Each place is the root of a tree; empty for sidecars beside their files. The present place comes last.
    private let roots: [String]

    /// Adds the present place to those in the ledger.
    ///
    /// - Parameters:
    ///   - stored: the ledger's setting, see ``bytes``. `nil` in ledgers of earlier versions; those sidecars are beside
    ///     their files.
    ///   - present: the root of the present tree; `nil` for sidecars beside their files.
    init(stored: [UInt8]?, present: String?) {
        let present = present ?? ""
        let known = (stored ?? []).split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        roots = known.filter { $0 != present } + [present]
    }

    /// The present place alone.
    init(only present: String?) { roots = [present ?? ""] }

    /// The places whose sidecars must go.
    var former: [String] { roots.dropLast() }

    /// The ledger's setting: the places, separated by zero bytes. Earlier versions stored a single place.
    var bytes: [UInt8] { Array(roots.joined(separator: "\0").utf8) }
}

/// What `StraySearch` and `expired` may ask: the present state of outbox, paths, posts and ledger.
protocol StrayFacts {
    /// Whether the outbox is present and is the one in the ledger. The files of another outbox do not count as gone.
    var isWholeOutbox: Bool { get }
    /// Mount points below the outbox whose file system is not mounted.
    var lostMounts: Set<RelativePath> { get }
    /// Whether the agent still works on a path, or the path's file system is not mounted.
    func isBusy(_ path: RelativePath) -> Bool
    /// Whether the path has a record, or may have one that can't be read.
    func hasRecord(_ path: RelativePath) -> Bool
    /// Whether the directory is a post.
    func isPost(_ directory: RelativePath) -> Bool
    /// Whether the directory lies within a post. Then it is no post itself.
    func isInPost(_ directory: RelativePath) -> Bool
    /// Whether no file has this name any more.
    func isGone(_ path: RelativePath) -> Bool
}

extension StrayFacts {
    /// Returns those of some records whose files vanished and whose retention is over.
    func expired(_ records: [DropRecord], at now: WallTime, _ retention: Retention) -> [RelativePath] {
        guard isWholeOutbox else { return [] }
        return records.filter { record in
            record.isPrunable(at: now, retention) && !isBusy(record.path) && isGone(record.path)
        }.map(\.path)
    }
}
