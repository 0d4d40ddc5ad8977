import Testing
import UploadCore

/// `OUTBOX_WALK_EVENTS` (default 200,000) sets the length of the walk, `OUTBOX_WALK_SEED` its seed.
@Suite("Random walks of paths, over kills, lost events and changing users")
struct PathWalkTests {
    @Test("always end or wait for a definite event, keep user actions across renames, and are done in the end")
    func walk() { takeWalks(events: 200_000, share: 2, stretch: 400) { PathWalk(seed: $0, window: 1_000) } }

    @Test("also if the book holds the paths of three uploads, and the ledger the others")
    func window() { takeWalks(events: 200_000, share: 2, stretch: 400) { PathWalk(seed: $0, window: 3) } }
}

/// One random history of an outbox.
private struct PathWalk: RandomWalk {
    private var random: WalkRandom
    private var stage: PathStage
    /// The number of different contents.
    private let contents: UInt64
    private var ownProblem: String?
    private let names: [RelativePath] = ["a", "b", "c", "d/a", "d/b", "d/e/a", "x/a"]

    var problem: String? { (ownProblem ?? stage.problem).map { ([$0] + stage.history).joined(separator: "\n    ") } }

    init(seed: UInt64, window: Int) {
        random = WalkRandom(seed: seed)
        stage = PathStage(window: window)
        contents = window > 4 ? 4 : 8
    }

    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<14: write()
        case 14..<18: remove()
        case 18..<26: rename()
        case 26..<28: renameDirectory()
        case 28..<58: stage.tellNext()
        case 58..<74: if !stage.hashes.isEmpty { stage.hash(Int.random(in: stage.hashes.indices, using: &random)) }
        case 74..<80: if let key = stage.waiters.keys.sorted().randomElement(using: &random) { stage.confirm(key) }
        case 80..<84: stage.pass(.milliseconds(Int.random(in: 1...1500, using: &random)))
        case 84..<88: stage.tick()
        case 88..<94: act()
        case 94..<96: stage.scan()
        case 96..<97: stage.news = []  // Lost; a scan makes up for it later.
        default: restart()
        }
        check()
    }

    private mutating func restart() {
        // If another file took a file's name, only the agent's memory holds the wish for that file.
        let told = stage.ledger.values.filter(\.isCancelledByUser).compactMap { $0.identity?.inode }
        stage.cancelled.formIntersection(told)
        stage.restart(as: random.pick(["anna", "anna", "anna", "ben"]))
    }

    private mutating func write() {
        let path = random.pick(names)
        if let inode = stage.files[path]?.identity.inode { stage.cancelled.remove(inode) }
        stage.write(path, UInt64.random(in: 1...contents, using: &random), inPlace: Bool.random(using: &random))
    }

    private mutating func remove() {
        if let path = stage.files.keys.sorted().randomElement(using: &random) { stage.remove(path) }
    }

    private mutating func rename() {
        guard let old = stage.files.keys.sorted().randomElement(using: &random) else { return }
        let new = random.pick(names)
        if old != new { stage.rename(old, to: new) }
    }

    private mutating func renameDirectory() {
        let (old, new): (RelativePath, RelativePath) = (random.pick(["d", "x", "y"]), random.pick(["d", "x", "y"]))
        // rename(2) replaces an empty directory only.
        let isTaken = stage.files.keys.contains { $0.isWithin(new) }
        if old != new, !isTaken { stage.rename(directory: old, to: new) }
    }

    private mutating func act() {
        guard let path = stage.underWay.randomElement(using: &random) else { return }
        let action = random.pick(UserAction.onFiles)
        let wasHashed = stage.record(path)?.key != nil && stage.record(path)?.state != .settling
        let before = stage.files[path]
        guard stage.act(action, on: path) == nil else { return }
        // The user's file is certain only if the watch has reported all events.
        if action == .cancel, wasHashed, stage.hasHeardAll, let before, stage.record(path)?.identity == before.identity
        {
            stage.cancelled.insert(before.identity.inode)
        }
        if action == .retry, let inode = before?.identity.inode { stage.cancelled.remove(inode) }
    }

    // MARK: What must hold after each event

    private mutating func check() {
        checkWaiters()
        checkRecords()
    }

    /// Checks that each waiter waits once, for the content in its record, and for the present account.
    private mutating func checkWaiters() {
        var seen: Set<RelativePath> = []
        for (key, paths) in stage.waiters {
            for path in paths.keys {
                if !seen.insert(path).inserted { return fail("\(path) waits for two contents") }
                let held = stage.book.drops[path]
                if held == nil, !stage.backlog.contains(key) {
                    return fail("\(path) waits, and the book has no record")
                }
                guard let record = held ?? stage.ledger[path], !record.state.isFinal else {
                    return fail("\(path) waits and is not on its way")
                }
                if record.key != key { return fail("\(path) waits for another content than its record says") }
                if stage.book.ownership.isParked(record.account) { return fail("\(path) waits for another account") }
            }
        }
    }

    /// Checks that every path on its way waits for a definite event.
    private mutating func checkRecords() {
        for path in stage.underWay where stage.book.drops[path] == nil {
            guard let key = stage.ledger[path]?.key, stage.waiters[key]?[path] != nil else {
                return fail("only the ledger knows \(path), and nothing is done for it")
            }
        }
        for (path, record) in stage.book.drops {
            if record.path != path { return fail("the record of \(path) names \(record.path)") }
            if record.state.isFinal { return fail("\(path) is \(record.state) and on its way") }
            if let key = record.key, record.state != .settling {
                let isParked = stage.book.ownership.isParked(record.account)
                if !isParked, stage.waiters[key]?[path] == nil, !stage.book.isPortrait(path) {
                    return fail("\(path) is \(record.state), and nothing is done for it")
                }
            }
        }
    }

    private mutating func fail(_ text: String) { ownProblem = ownProblem ?? text }

    // MARK: The end

    /// Triggers all pending events and checks that each file is done or waits for its user.
    mutating func end() {
        stage.restart(as: "anna")
        for _ in 0..<40 where problem == nil {
            while !stage.news.isEmpty || !stage.hashes.isEmpty {
                stage.tellNext()
                stage.hash()
            }
            for path in stage.book.drops.keys.sorted() { stage.act(.resume, on: path) }
            for (key, paths) in stage.waiters.sorted(by: { $0.key < $1.key })
            where paths.keys.contains(where: { stage.files[$0] != nil }) {
                stage.confirm(key)
            }
            stage.pass(.seconds(3))
            stage.tick()
            stage.scan()
            check()
        }
        for (path, file) in stage.files.sorted(by: { $0.key < $1.key }) { checkEnd(of: path, file) }
        for path in stage.book.drops.keys where stage.files[path] == nil {
            fail("\(path) is gone and \(String(describing: stage.book.drops[path]?.state)) for ever")
        }
        for (path, record) in stage.ledger where stage.files[path] == nil && !record.state.isFinal {
            fail("\(path) is gone, and the ledger has it as \(record.state)")
        }
    }

    private mutating func checkEnd(of path: RelativePath, _ file: PathStage.File) {
        guard let record = stage.record(path) else { return fail("\(path) is there and not known") }
        switch record.state {
        case .done:
            if record.key != PathStage.key(file.content) { fail("\(path) is done with another content") }
        case .cancelled:
            if !record.isCancelledByUser {
                fail("\(path) is there and cancelled as \(record.error?.code ?? "nothing")")
            }
        default:
            if !stage.book.ownership.isParked(record.account) { fail("\(path) is \(record.state) for ever") }
        }
    }
}
