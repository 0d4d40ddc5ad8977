import Clocks
import Intake
import Ledger
import LinuxSystem
import Synchronization
import UploadCore

/// Sizes and thumbnails of pictures and videos. The agent determines them beside the upload, which never waits for
/// them.
///
/// A file is measured while it is hashed. If the measurement is quick enough, the registration carries the result.
/// Thumbnails are drawn afterwards. If many files arrive together, most are measured and drawn after the rush. If a
/// program was missing, both are retried at the next start.
///
/// Not `Sendable`, so the compiler confines it to the thread of its owner. The examinations run in tasks, whose results
/// reach the owner through `report`. The owner passes them back to `handle`.
final class Thumbnails {
    /// The result of work that this type started. The owner passes all but `measured` to `handle`.
    enum News: Sendable {
        /// A file was measured while it was hashed.
        case measured(RelativePath, FileIdentity, MediaFacts)
        /// A content was examined.
        case examined(ContentKey, Finding)
        /// These contents have a thumbnail.
        case stored(ArraySlice<ContentKey>)
        /// Further contents may be examined now.
        case turn
    }

    /// The result of an examination.
    struct Finding: Sendable {
        var kind: MediaType.Kind
        var facts: MediaFacts?
        /// Whether nothing is left to find out.
        var isAll: Bool
        /// Whether the file still had the examined content afterwards. If not, its thumbnail does not show this content.
        var isSame: Bool
    }

    /// What the owner must do next.
    enum Step: Equatable {
        /// Store what is known of a content.
        case learned(MediaFacts, ContentKey, isAll: Bool)
        /// Let a file leave the outbox, since it no longer waits for its thumbnail.
        case retire(RelativePath)
        /// The ledger could not be read.
        case failed(LedgerError)
    }

    /// Maximum number of thumbnails that are checked before other work gets its turn.
    private static let checkedAtOnce = 256

    private let media: any MediaExamining
    private let report: @Sendable (News) -> Void
    private let earlyLooks = EarlyLooks()
    private var examinations: Examinations
    /// Rings when a rush holds back examinations no longer.
    private var alarm = Alarm()
    /// The contents that this run leaves to the next start.
    private var unsettled = UnsettledContents()
    /// Whether contents were not queued because many were. The owner finds them in the ledger (`maySearch`).
    private(set) var hasLeftOut = false

    /// Whether nothing is left to examine, now or at the next start.
    var isSettled: Bool { examinations.isEmpty && unsettled.isEmpty && !hasLeftOut }
    /// Whether many contents wait for their examination.
    var isCrowded: Bool { examinations.isCrowded }

    /// - Parameter room: how many contents may wait before further ones are left to a later search of the ledger. `nil` if
    ///   files leave the outbox: `hold` must know which of them wait.
    init(media: any MediaExamining, room: Int?, report: @escaping @Sendable (News) -> Void) {
        (self.media, self.report) = (media, report)
        examinations = Examinations(room: room)
    }

    // MARK: Examinations

    /// The function that the hashing thread calls as soon as it knows the type of a file, before it reads on.
    var earlyLook: @Sendable (RelativePath, FileIdentity, MediaType, SharedDescriptor) -> Void {
        { [media, report, looks = earlyLooks] path, identity, type, file in
            guard looks.begin(type, now: Self.now()) else { return }
            Task(executorPreference: media.executor) {
                let facts = await media.measure(file, type)
                looks.end(type, now: Self.now())
                guard let facts, let after = try? FileStatus(of: file.rawValue), FileIdentity(after) == identity else {
                    return
                }
                report(.measured(path, identity, facts))
            }
        }
    }

    /// Queues the content of a record for examination, unless the examination would add nothing. Leaves it out while
    /// many wait.
    ///
    /// - Parameter isFound: whether the record was found in a search for contents left out. It is not left out again, but
    ///   passed over if its examination failed in this run.
    func examine<Facts: ContentFacts>(
        _ record: DropRecord, _ contents: @autoclosure () -> Facts, isFound: Bool = false
    ) -> [Step] {
        guard isWanted(record), let key = record.key, !examinations.covers(key) else { return [] }
        if isFound, unsettled.covers(key, record.kind) { return [] }
        if !isFound, examinations.isFull {
            hasLeftOut = true
            unsettled.remove(key, record.kind)
            return []
        }
        examinations.add(key)
        return examineNext(contents)
    }

    /// Records that a file was hashed, or reached a final state. Examinations leave the processors to such files.
    func noteProgress() { examinations.noteProgress(now: Self.now()) }

    /// Whether the ledger can be searched now for contents that were left out. A search for a few would read much of a
    /// large ledger while others are being left out.
    var maySearch: Bool { hasLeftOut && examinations.isEmpty }

    /// The owner begins to search the ledger for contents that were left out.
    func beginSearch() { hasLeftOut = false }

    /// Whether a file must stay in the outbox until its thumbnail is drawn. If so, a `retire` step follows later.
    func hold(_ record: DropRecord) -> Bool {
        record.key.map { examinations.hold(record.path, for: $0) } ?? false
    }

    /// Handles a result.
    func handle(_ news: News, _ contents: some ContentFacts) -> [Step] {
        switch news {
        case .measured: return []
        case .examined(let key, let finding): return examined(key, finding, contents)
        case .stored(let keys):
            let steps = keys.prefix(Self.checkedAtOnce).flatMap { release($0, contents) }
            let rest = keys.dropFirst(Self.checkedAtOnce)
            if !rest.isEmpty { report(.stored(rest)) }
            return steps
        case .turn:
            alarm.rang()
            return examineNext { contents }
        }
    }

    private static func now() -> MonotonicTime { MonotonicTime(nanoseconds: bootTimeNanoseconds()) }

    private func isWanted(_ record: DropRecord) -> Bool {
        record.wantsExamination(withThumbnail: media.drawsThumbnails)
    }

    private func examineNext<Facts: ContentFacts>(_ facts: () -> Facts) -> [Step] {
        var steps: [Step] = []
        let now = Self.now()
        while let key = examinations.begin(now: now) {
            let contents = facts()
            if let (record, file) = openFile(of: key, contents) {
                examine(key, record, file)
            } else {
                steps += end(key, contents)
            }
        }
        if let turn = examinations.nextTurn { alarm.set(for: turn, now: now) { [report] in report(.turn) } }
        return steps
    }

    private func examine(_ key: ContentKey, _ record: DropRecord, _ file: SharedDescriptor) {
        let (type, identity, known) = (record.type ?? .other, record.identity, record.facts)
        Task(executorPreference: media.executor) { [media, report] in
            let measured = known == nil ? await media.measure(file, type) : known
            let isSettled = await media.drawThumbnail(of: file, type, key: key, duration: measured?.duration)
            let after = (try? FileStatus(of: file.rawValue)).map(FileIdentity.init)
            let isSame = after.map { identity?.isSameFile(as: $0) == true } ?? false
            // Without thumbnails, the content stays unexamined, since thumbnails may be enabled later.
            let isAll = isSettled && media.drawsThumbnails
            report(.examined(key, Finding(kind: type.kind, facts: measured, isAll: isAll, isSame: isSame)))
        }
    }

    private func examined(_ key: ContentKey, _ finding: Finding, _ contents: some ContentFacts) -> [Step] {
        var steps: [Step] = []
        if finding.facts == nil || (media.drawsThumbnails && !finding.isAll) {
            unsettled.add(key, finding.kind)
        } else {
            unsettled.remove(key, finding.kind)
        }
        if finding.isSame, let facts = finding.facts { steps.append(.learned(facts, key, isAll: finding.isAll)) }
        if !finding.isSame { media.dropThumbnail(of: key) }
        steps += end(key, contents)
        if !finding.isSame, let other = try? contents.records(of: key).first { steps += examine(other, contents) }
        return steps + examineNext { contents }
    }

    /// Opens one of the files that hold a content. A file that was just renamed can't be opened; its content is examined
    /// once the new name is known.
    private func openFile(of key: ContentKey, _ contents: some ContentFacts) -> (DropRecord, SharedDescriptor)? {
        for record in (try? contents.records(of: key)) ?? [] where isWanted(record) {
            if let file = contents.open(record) { return (record, file) }
            unsettled.add(key, record.kind)
        }
        return nil
    }

    /// Ends the examination of a content. Files that waited for it leave the outbox.
    private func end(_ key: ContentKey, _ contents: some ContentFacts) -> [Step] {
        let paths = examinations.end(key, now: Self.now())
        // If the ledger cannot be read, remove nothing.
        guard let isHeld = try? contents.hasPath(of: key) else { return [] }
        // All paths may have left the content meanwhile.
        if !isHeld { media.dropThumbnail(of: key) }
        return paths.map(Step.retire)
    }

    // MARK: Removed contents

    /// Removes the thumbnail of a content that no path holds.
    func release(_ key: ContentKey, _ contents: some ContentFacts) -> [Step] {
        if examinations.covers(key) { return [] }
        do {
            if try !contents.hasPath(of: key) { media.dropThumbnail(of: key) }
            return []
        } catch {
            // If the ledger cannot be read, remove nothing.
            return [.failed(error)]
        }
    }

    /// Searches for thumbnails of contents that no path holds. A kill or `prune` without an agent leaves such
    /// thumbnails.
    func sweep() {
        Task { [media, report] in report(.stored(await media.thumbnails()[...])) }
    }
}

extension DropRecord {
    fileprivate var kind: MediaType.Kind { type?.kind ?? .other }

    /// Whether an examination may add facts about the content, or draw its thumbnail.
    fileprivate func wantsExamination(withThumbnail: Bool) -> Bool {
        guard key != nil, let type, type.kind != .other, facts == nil || (withThumbnail && !isExamined) else {
            return false
        }
        // A picture without a readable size can't be drawn.
        if type.kind == .image, let facts, facts.width == nil { return false }
        if case .moved = disposal { return true }
        return hasFile
    }
}

/// The contents whose examination the next start repeats, since a program, memory, space or the file was missing.
struct UnsettledContents {
    /// With more contents of a kind, all contents of this kind are covered, so that memory stays bounded.
    static let most = 10_000

    private var keys: [MediaType.Kind: Set<ContentKey>] = [:]

    /// Whether the next start has nothing to repeat.
    var isEmpty: Bool { keys.isEmpty }

    mutating func add(_ key: ContentKey, _ kind: MediaType.Kind) {
        if keys[kind, default: []].count <= Self.most { keys[kind, default: []].insert(key) }
    }

    /// The examination of a content succeeded.
    mutating func remove(_ key: ContentKey, _ kind: MediaType.Kind) {
        guard let count = keys[kind]?.count, count <= Self.most else { return }
        keys[kind]?.remove(key)
        if keys[kind]?.isEmpty == true { keys[kind] = nil }
    }

    /// Whether an examination in this run would probably fail again.
    func covers(_ key: ContentKey, _ kind: MediaType.Kind) -> Bool {
        keys[kind].map { $0.count > Self.most || $0.contains(key) } ?? false
    }
}
