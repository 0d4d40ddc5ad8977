import UploadCore

/// A random walk: a source, a ledger that lags behind, a directory and a user that keep changing things, uploads and
/// a server with faults, and kills.
struct SourceWalk: RandomWalk {
    /// The actions of one call of the machine. None takes effect before the record is durable.
    struct Batch {
        var record: SourceRecord
        var actions: [SourceAction]
    }

    static let names: [RelativePath] = ["a", "b", "c", "sub/d", "sub/e"]

    var random: WalkRandom
    var machine: SourceMachine
    var now = Now(monotonic: MonotonicTime(nanoseconds: 1 << 40), wall: WallTime(milliseconds: 0))
    var server = SourceWalkServer()

    var stored: SourceRecord
    var batches: [Batch] = []
    /// The commit on its way to the server.
    var underWay: SourceCommit?

    /// The contents of `source.toml`; nil if unusable.
    var description: SourceDescription? = SourceDescription(title: "0")
    /// The state of each existing file in the agent's own records, which are durable.
    var disk: [RelativePath: SourceFile] = [:]
    /// The revisions that this run of the agent knows as confirmed.
    var confirmed: Set<Int> = []
    var problem: String?

    init(seed: UInt64) {
        random = WalkRandom(seed: seed)
        stored = SourceRecord(
            id: "walk", directory: "walk", account: nil, stage: .collecting, acceptedAt: WallTime(milliseconds: 0))
        machine = SourceMachine(record: stored, now: now)
        tell([.described(SourceDescription(title: "0"))])
    }

    /// Takes one step.
    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<25: goOnWithFile()
        case 25..<45: persistOne()
        case 45..<60: serve()
        case 60..<75: pass(.milliseconds(Int.random(in: 1...2500, using: &random)))
        case 75..<87: directoryMoves()
        case 87..<97: userActs()
        default: crash()
        }
    }

    // MARK: The agent

    mutating func tell(_ events: [SourceEvent]) {
        let before = machine.record
        let actions = machine.handle(events, now: now)
        check(actions, before: before)
        batches.append(Batch(record: machine.record, actions: actions))
    }

    mutating func persistOne() {
        guard !batches.isEmpty else { return }
        let batch = batches.removeFirst()
        stored = batch.record
        for action in batch.actions {
            switch action {
            case .store, .changed: break
            case .commit(let commit, _):
                if underWay != nil { fail("told twice at once") }
                underWay = commit
            case .withdrawCommit: withdraw()
            case .verify(let names): for name in names where disk[name]?.state == .done { upload(name, .queued) }
            case .retryFiles(let names):
                for name in names where [.failed, .cancelled].contains(disk[name]?.state) { upload(name, .queued) }
            case .discardFiles(let names, _):
                for name in names {
                    if let key = disk[name]?.key { server.forget(key) }
                    upload(name, .cancelled)
                }
            }
        }
    }

    /// Changes the state of a file in the directory.
    private mutating func upload(_ name: RelativePath, _ state: FileState) {
        guard var file = disk[name], let key = file.key else { return }
        file.state = state
        file.remoteID = state == .done ? server.id(of: key) : nil
        put(name, file)
    }

    private mutating func put(_ name: RelativePath, _ file: SourceFile) {
        disk[name] = file
        tell([.file(name, file)])
    }

    /// Advances the upload of a file that the machine does not hold.
    mutating func goOnWithFile() {
        guard let name = disk.keys.sorted().randomElement(using: &random), let file = disk[name] else { return }
        if file.state == .settling {
            put(name, SourceFile(state: .queued, key: content(random.next() % 12).key, isPicture: random.oneIn(2)))
        } else if file.state == .queued, !machine.holds(name) {
            upload(name, server.isFlaky && random.oneIn(15) ? .failed : .done)
        }
    }

    mutating func serve() {
        guard let commit = underWay else { return persistOne() }
        switch server.take(commit, random: &random) {
        case .none: break
        case .some(let outcome):
            underWay = nil
            if case .done = outcome { confirmed.insert(commit.revision) }
            tell([.committed(revision: commit.revision, outcome)])
        }
        if let told = server.problem { fail(told) }
    }

    /// Cancels a request, which may have arrived anyway.
    private mutating func withdraw() {
        if let commit = underWay, random.oneIn(2) { _ = server.take(commit, random: &random) }
        underWay = nil
    }

    mutating func pass(_ duration: Duration) {
        now = Now(monotonic: now.monotonic + duration, wall: now.wall.advanced(by: duration))
        tell([.tick])
    }

    /// Kills the agent: decisions that are not yet durable are lost.
    private mutating func crash() {
        withdraw()
        batches = []
        confirmed = []
        machine = SourceMachine(record: stored, now: now)
        if random.oneIn(2) { moveOnDisk() }
        let known = Set(stored.files.keys).union(stored.post?.files.keys ?? [:].keys)
        let files = disk.sorted { $0.key < $1.key }.map { SourceEvent.file($0.key, $0.value) }
        tell(files + known.filter { disk[$0] == nil }.sorted().map { .gone($0) } + [read()])
    }

    // MARK: The directory

    private func read() -> SourceEvent { description.map { .described($0) } ?? .malformed(.broken) }

    /// Changes a file while the agent is not running.
    private mutating func moveOnDisk() {
        let name = random.pick(Self.names)
        disk[name] = random.oneIn(2) ? nil : SourceFile(state: .settling)
    }

    private mutating func directoryMoves() {
        let name = random.pick(Self.names)
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<4: put(name, SourceFile(state: .settling))
        case 4:
            guard disk.removeValue(forKey: name) != nil else { return }
            tell([.gone(name)])
        case 5, 6:
            let new = random.pick(Self.names)
            guard name != new, let file = disk.removeValue(forKey: name) else { return }
            disk[new] = file
            tell([.renamed(name, to: new)])
        case 7: put(name, .rejected)
        case 8: if disk[name]?.key != nil, disk[name]?.state != .done { upload(name, .cancelled) }
        case 9: tell([.moved])
        default: edit()
        }
    }

    private mutating func removeDirectory() {
        let names = disk.keys.sorted()
        disk = [:]
        tell([.removed] + names.map { .gone($0) })
    }

    private mutating func edit() {
        let title = "\(random.next() % 3)"
        description =
            random.oneIn(5)
            ? nil
            : SourceDescription(
                title: title, cover: random.oneIn(5) ? random.pick(Self.names) : nil, isDraft: random.oneIn(3))
        tell([read()])
    }

    private mutating func userActs() {
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<4: tell([.submit])
        case 4: tell([.setPaused(true)])
        case 5..<8: tell([.setPaused(false)])
        case 8: tell([.cancel])
        case 9: tell([.cancel, .submit])
        case 10: if random.oneIn(4) { removeDirectory() }
        default: tell([.retry])
        }
    }
}
