import UploadCore

/// The directories with deferred files: the watch reports these files once its user has room for them.
///
/// As long as the names of the files need little memory, they are kept: so a few new files among a million known ones do
/// not make the watch list them all. Else the directory stands for its files, however many, and is listed again when there
/// is room. The oldest and the newest directory are visited in turn: so no directory waits forever, and a few new files do
/// not wait behind a directory with a million.
struct DeferredDirectories {
    /// The visit to a directory, past or to come.
    struct Visit {
        let id: WatchTree.ID
        /// Orders visits by when they were requested.
        fileprivate let number: UInt64
        /// The deferred files; empty if only a listing of the directory finds them.
        let names: NameList
        /// What is left to do; nil before the visit.
        var listing: ScanQueue.Listing?
        /// Time spent in vain on this visit.
        private(set) var effort: Duration = .zero

        /// Records some time spent on this visit.
        ///
        /// - Parameter hadNews: whether the watch reported anything meanwhile.
        mutating func spend(_ time: Duration, hadNews: Bool) { if !hadNews { effort += time } }
    }

    /// Bytes that the kept names may take: some 30,000 names.
    static let nameLimit = 1 << 20
    private static let mostAtOnce = 2
    /// A visit with a longer effort found its files among very many others. Before the next visit the directory rests, so
    /// that listing in vain takes at most a fifth of the time.
    private static let longEffort: Duration = .milliseconds(50)
    /// How long a postponed visit waits.
    private static let rest: Duration = .milliseconds(100)

    private var waiting: ArraySlice<(id: WatchTree.ID, number: UInt64)> = []
    /// The deferred files of each waiting directory, as in `Visit.names`.
    private var names: [WatchTree.ID: NameList] = [:]
    private var begun: [Visit] = []
    private var isBusy = false
    private var rests: [WatchTree.ID: MonotonicTime] = [:]
    private var takesNewest = false
    /// Bytes of the names of all visits that are not over.
    private var nameBytes = 0

    /// The number of the latest request.
    private(set) var last: UInt64 = 0

    /// Whether every deferred file was reported.
    var isEmpty: Bool { waiting.isEmpty && begun.isEmpty && !isBusy }
    /// Number of directories with files that were not reported yet.
    var count: Int { waiting.count + begun.count { names[$0.id] == nil } }

    /// Whether a listing of the directory is requested, which finds all its files.
    func willList(_ id: WatchTree.ID) -> Bool { names[id]?.isEmpty ?? false }

    /// Requests a visit to a file, unless one is requested already. A visit that has begun does not count: the file may
    /// be newer.
    mutating func add(_ name: [UInt8], in id: WatchTree.ID) {
        if willList(id) { return }
        if names[id] == nil {
            last += 1
            waiting.append((id, last))
        }
        nameBytes += names[id, default: NameList()].append(name)
        if nameBytes > Self.nameLimit { forgetNames(of: id) }
    }

    /// Has a waiting directory listed.
    private mutating func forgetNames(of id: WatchTree.ID) {
        nameBytes -= names.updateValue(NameList(), forKey: id)?.size ?? 0
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
        return Visit(id: id, number: number, names: names.removeValue(forKey: id) ?? NameList())
    }

    /// Takes back a visit that is not over.
    mutating func putBack(_ visit: Visit) {
        isBusy = false
        begun.append(visit)
    }

    /// Takes back a visit to a directory that is not at its place. An event says soon whether the directory was renamed.
    mutating func postpone(_ visit: Visit, now: MonotonicTime) {
        isBusy = false
        rests[visit.id] = now + Self.rest
        let newer = names.updateValue(visit.names, forKey: visit.id)
        if let newer {
            waiting.removeAll { $0.id == visit.id }
            nameBytes -= newer.size
            forgetNames(of: visit.id)
        }
        let index = waiting.firstIndex { $0.number > visit.number } ?? waiting.endIndex
        waiting.insert((visit.id, visit.number), at: index)
    }

    /// Ends a visit.
    mutating func end(_ visit: Visit, now: MonotonicTime) {
        isBusy = false
        nameBytes -= visit.names.size
        if visit.effort > Self.longEffort { rests[visit.id] = now + visit.effort * 4 }
    }
}
