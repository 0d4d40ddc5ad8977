import UploadCore

/// The directories with deferred files: the watch reports these files once its user has room for them.
///
/// As long as the names of the files need little memory, they are kept: so a few new files among a million known ones do
/// not make the watch list them all. Otherwise the directory stands for its files, however many, and is listed again when
/// there is room. The oldest and the newest directory are visited in turn: so no directory waits forever, and a few new
/// files do not wait behind a directory with a million.
struct DeferredDirectories {
    /// The visit to a directory, past or to come.
    struct Visit {
        let id: WatchTree.ID
        /// Orders visits by when they were requested.
        fileprivate let number: UInt64
        /// The deferred files; nil to list the directory.
        let names: NameList?
        /// What is left to do; nil before the visit.
        var listing: ScanQueue.Listing?
        /// Time spent in vain on this visit.
        private(set) var effort: Duration = .zero

        /// Records some time spent on this visit.
        ///
        /// - Parameter hadNews: whether the watch reported anything meanwhile.
        mutating func spend(_ time: Duration, hadNews: Bool) { if !hadNews { effort += time } }
    }

    private static let mostAtOnce = 2
    /// A visit with a longer effort found its files among very many others. Before the next visit the directory rests, so
    /// that listing in vain takes at most a fifth of the time.
    private static let longEffort: Duration = .milliseconds(50)
    /// How long a postponed visit waits.
    private static let rest: Duration = .milliseconds(100)
    /// How often a visit is postponed.
    private static let mostPostponements = 10

    /// Bytes that the kept names may take; those of one directory, a quarter.
    private let nameLimit: Int
    private var waiting: ArraySlice<(id: WatchTree.ID, number: UInt64)> = []
    private var ids: Set<WatchTree.ID> = []
    /// The deferred files of the waiting directories that need no listing.
    private var names: [WatchTree.ID: NameList] = [:]
    private var begun: [Visit] = []
    private var isBusy = false
    private var rests: [WatchTree.ID: MonotonicTime] = [:]
    private var postponements: [WatchTree.ID: Int] = [:]
    private var takesNewest = false
    /// Bytes of the names of all visits that are not over.
    private var nameBytes = 0

    /// The number of the latest request.
    private(set) var last: UInt64 = 0

    /// - Parameter nameLimit: bytes that the names of deferred files may take in memory.
    init(nameLimit: Int) { self.nameLimit = nameLimit }

    /// Whether every deferred file was reported.
    var isEmpty: Bool { waiting.isEmpty && begun.isEmpty && !isBusy }
    /// Number of directories with files that were not reported yet.
    var count: Int { waiting.count + begun.count { !ids.contains($0.id) } }

    /// Whether the directory waits for a listing, which will find all its files.
    func willList(_ id: WatchTree.ID) -> Bool { ids.contains(id) && names[id] == nil }

    /// Requests a visit to a directory. A visit that has begun does not count: the file may be newer.
    ///
    /// - Parameter name: the deferred file; nil to have the directory listed.
    mutating func add(_ name: [UInt8]?, in id: WatchTree.ID) {
        if ids.insert(id).inserted {
            last += 1
            waiting.append((id, last))
            names[id] = NameList()
            nameBytes += NameList().size
        }
        guard let name, let growth = names[id]?.append(name) else { return forgetNames(of: id) }
        nameBytes += growth
        if nameBytes > nameLimit || names[id]?.size ?? 0 > nameLimit / 4 { forgetNames(of: id) }
    }

    private mutating func forgetNames(of id: WatchTree.ID) {
        nameBytes -= names.removeValue(forKey: id)?.size ?? 0
    }

    /// Whether every visit up to this request is over.
    func isDone(through number: UInt64) -> Bool {
        !(waiting.first.map { $0.number <= number } ?? false) && !begun.contains { $0.number <= number }
    }

    /// When the next visit is due; nil if none is requested.
    func due(now: MonotonicTime) -> MonotonicTime? {
        if !begun.isEmpty { return now }
        return waiting.lazy.map { rests[$0.id] ?? now }.min()
    }

    /// Returns the visit to go on with, or to begin. The caller works on it for a moment and passes it to `putBack`
    /// or `end`.
    mutating func next(now: MonotonicTime) -> Visit? {
        if begun.count < Self.mostAtOnce, let visit = takeWaiting(now: now) {
            isBusy = true
            return visit
        }
        guard !begun.isEmpty else { return nil }
        isBusy = true
        return begun.removeFirst()
    }

    private mutating func takeWaiting(now: MonotonicTime) -> Visit? {
        if !rests.isEmpty { rests = rests.filter { $0.value > now } }
        let index =
            takesNewest
            ? waiting.lastIndex { rests[$0.id] == nil } : waiting.firstIndex { rests[$0.id] == nil }
        guard let index else { return nil }
        takesNewest.toggle()
        let (id, number) = index == waiting.startIndex ? waiting.removeFirst() : waiting.remove(at: index)
        ids.remove(id)
        return Visit(id: id, number: number, names: names.removeValue(forKey: id))
    }

    /// Takes back a visit that is not over.
    mutating func putBack(_ visit: Visit) {
        isBusy = false
        begun.append(visit)
    }

    /// Takes back a visit to a directory that is not at its place. An event says soon whether the directory was renamed.
    ///
    /// - Returns: false if the event is long overdue. The visit must then be ended.
    mutating func postpone(_ visit: Visit, now: MonotonicTime) -> Bool {
        let count = postponements[visit.id, default: 0]
        guard count < Self.mostPostponements else { return false }
        postponements[visit.id] = count + 1
        isBusy = false
        rests[visit.id] = now + Self.rest
        ids.insert(visit.id)
        names[visit.id] = visit.names
        let index = waiting.firstIndex { $0.number > visit.number } ?? waiting.endIndex
        waiting.insert((visit.id, visit.number), at: index)
        return true
    }

    /// Ends a visit.
    mutating func end(_ visit: Visit, now: MonotonicTime) {
        isBusy = false
        nameBytes -= visit.names?.size ?? 0
        postponements[visit.id] = nil
        if visit.effort > Self.longEffort { rests[visit.id] = now + visit.effort * 4 }
    }
}
