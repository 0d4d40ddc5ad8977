import Testing

@testable import UploadCore

/// `OUTBOX_WALK_EVENTS` (default 40,000) sets the length of the walk, `OUTBOX_WALK_SEED` its seed.
@Suite("Random walks of posts, over kills, lost events, faults and changing users")
struct PostsWalkTests {
    @Test("always wait for a definite event, hold and release their files, and are confirmed in the end")
    func walk() { takeWalks(events: 40_000, share: 2, stretch: 400) { PostsWalk(seed: $0, window: 1_000) } }

    @Test("also if the book holds the paths of three uploads, and the ledger the others")
    func window() { takeWalks(events: 40_000, share: 2, stretch: 400) { PostsWalk(seed: $0, window: 3) } }
}

/// One random history of an outbox with posts: `d`, `x`, and `d/e` if `d` is none.
private struct PostsWalk: RandomWalk {
    private var random: WalkRandom
    private var stage: PathStage
    private var ownProblem: String?
    /// The number of different contents.
    private let contents: UInt64
    private static let directories: [RelativePath] = ["d", "x", "y", "d/e"]
    private static let names: [RelativePath] = ["a", "d/a", "d/b", "d/c", "d/e/a", "x/a", "x/b", "y/a"]

    var problem: String? { (ownProblem ?? stage.problem).map { ([$0] + stage.history).joined(separator: "\n    ") } }

    init(seed: UInt64, window: Int) {
        random = WalkRandom(seed: seed)
        stage = PathStage(window: window)
        contents = window > 4 ? 4 : 8
        stage.isLedgerSlow = true
        stage.scan()
    }

    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<10: stage.write(random.pick(Self.names), number(), inPlace: Bool.random(using: &random))
        case 10..<13: describe()
        case 13..<16: if let path = stage.files.keys.sorted().randomElement(using: &random) { stage.remove(path) }
        case 16..<20: rename()
        case 20..<22: renameDirectory()
        case 22: stage.remove(directory: random.pick(Self.directories))
        case 23..<47: stage.tellNext()
        case 47..<57: if !stage.hashes.isEmpty { stage.hash(Int.random(in: stage.hashes.indices, using: &random)) }
        case 57..<65: upload()
        case 65..<73: stage.tellPosts()
        case 73..<80: stage.pass(.milliseconds(Int.random(in: 1...2500, using: &random)))
        case 80..<85: stage.tick()
        case 85..<89: wish()
        case 89..<91: act()
        case 91..<94: answer()
        case 94..<96: stage.scan()
        case 96: stage.server.ids.subtract(stage.server.ids.sorted().randomElement(using: &random).map { [$0] } ?? [])
        case 97: stage.news = []  // Lost; a scan makes up for it later.
        default: stage.restart(as: random.pick(["anna", "anna", "anna", "ben"]))
        }
        check()
    }

    private mutating func number() -> UInt64 { UInt64.random(in: 1...contents, using: &random) }

    private mutating func describe() {
        stage.write(PostPlaces.description(of: random.pick(Self.directories)), random.oneIn(3) ? number() : 1)
    }

    private mutating func rename() {
        guard let old = stage.files.keys.sorted().randomElement(using: &random) else { return }
        let new = random.oneIn(8) ? PostPlaces.description(of: random.pick(Self.directories)) : random.pick(Self.names)
        if old != new { stage.rename(old, to: new) }
    }

    private mutating func renameDirectory() {
        let (old, new) = (random.pick(Self.directories), random.pick(Self.directories))
        // rename(2) replaces an empty directory only, and moves none into itself.
        let isTaken = stage.files.keys.contains { $0.isWithin(new) }
        if !old.isWithin(new), !new.isWithin(old), !isTaken, stage.directories[old] != nil {
            stage.rename(directory: old, to: new)
        }
    }

    private mutating func upload() {
        guard let key = stage.waiters.keys.sorted().randomElement(using: &random) else { return }
        if random.oneIn(10) { stage.fail(key) } else { stage.confirm(key) }
    }

    private mutating func wish() {
        guard let directory = stage.posts.directories.randomElement(using: &random) else { return }
        stage.wish(random.pick(UserAction.allCases), for: directory)
    }

    private mutating func act() {
        guard let path = stage.book.drops.keys.sorted().randomElement(using: &random) else { return }
        stage.act(random.pick(UserAction.onFiles), on: path)
    }

    private mutating func answer() {
        guard let id = stage.commits.keys.sorted().randomElement(using: &random) else { return }
        stage.answer(id, isRefused: random.oneIn(6), isLost: random.oneIn(4))
    }

    // MARK: What must hold after each event

    private mutating func fail(_ text: String) { ownProblem = ownProblem ?? text }

    private mutating func check() {
        for directory in stage.posts.directories {
            guard let machine = stage.posts[directory] else { continue }
            let record = machine.record
            if record.directory != directory { fail("the post of \(directory) names \(record.directory)") }
            if stage.untold.isEmpty, stage.record(PostPlaces.description(of: directory)) != nil {
                fail("the description of \(directory) is a file")
            }
            if stage.postLedger[record.id] != record { fail("\(directory) is not in the ledger as it is") }
            if reason(machine) == nil { fail("\(directory) is \(describe(machine)) and waits for nothing") }
        }
        if stage.postLedger.count != stage.posts.directories.count { fail("a forgotten post is in the ledger") }
        for id in stage.commits.keys where stage.posts.directory(withID: id) == nil {
            fail("a forgotten post is committed")
        }
        checkFiles()
        checkWaiters()
        checkReports()
    }

    /// Checks that posts know the files on their way as the path book does.
    private mutating func checkFiles() {
        guard stage.untold.isEmpty else { return }
        for record in stage.book.drops.values {
            guard let directory = stage.posts.directory(of: record), let name = record.path.relative(to: directory),
                let file = stage.posts[directory]?.files[name]
            else { continue }
            if SourceEvent(record, name) != .file(name, file) {
                fail("\(record.path) is \(record.state), and its post takes it for \(file)")
            }
        }
    }

    /// Checks that the agent sends no file held by a post. `isEnd`: also that each paused waiter is held by its user or
    /// its post.
    private mutating func checkWaiters(isEnd: Bool = false) {
        // Until posts learn of it, a file may be held for a state it has left.
        guard stage.untold.isEmpty else { return }
        for (key, paths) in stage.waiters {
            for (path, isPaused) in paths {
                guard let record = stage.record(path), record.key == key, !record.state.isFinal else {
                    fail("\(path) waits for a content, and its record does not")
                    continue
                }
                // The removal of a missing file ends its upload, whether the file is held or not. A post learns of a
                // file that is back from the watch.
                let directory = stage.posts.directory(of: record)
                let name = directory.flatMap { path.relative(to: $0) }
                let isKnown = directory.flatMap { stage.posts[$0] }.map { post in
                    name.map { post.files[$0] != nil } ?? false
                }
                if stage.files[path] == nil || isKnown == false { continue }
                let isHeld = stage.posts.holds(record)
                if isEnd, isPaused, !isHeld, !stage.book.isPaused(record) { fail("\(path) is held by nobody") }
                if !isPaused, isHeld { fail("\(path) is held by its post and sent") }
            }
        }
    }

    /// Checks that posts decide nothing about a file that did not change, even if the file is reported again.
    private mutating func checkReports() {
        guard stage.untold.isEmpty else { return }
        let ended = stage.ledger.values.filter { $0.state.isFinal && stage.book.drops[$0.path] == nil && $0.hasFile }
        for record in ended {
            guard let directory = stage.posts.directory(of: record), let machine = stage.posts[directory],
                let name = record.path.relative(to: directory), machine.files[name] != nil,
                !stage.posts.isParked(machine.record)
            else { continue }
            var posts = stage.posts
            _ = posts.handle(.tick, now: stage.now, facts: stage.postFacts)
            var actions = posts.handle(.changed(record), now: stage.now, facts: stage.postFacts)
            // A post that could be taken at any event looks at unreported files again.
            actions.removeAll { if case .settle = $0 { true } else { false } }
            if !actions.isEmpty { fail("\(record.path) did not change, and posts do \(actions)") }
        }
    }

    private func describe(_ machine: SourceMachine) -> String {
        let files = machine.files.sorted { $0.key < $1.key }.map { "\($0): \($1.state)" }
        return "\(machine.record.stage) with \(files), awaiting \(machine.awaited.sorted())"
    }

    /// Returns what a post waits for; nil if nothing can be named.
    private func reason(_ machine: SourceMachine) -> String? {
        let record = machine.record
        if stage.posts.isParked(record) { return "its owner" }
        if record.isPaused { return "its user" }
        switch record.stage {
        case .draft, .done, .failed, .cancelled, .rejected: return "nothing more happens without a person"
        case .committing: return stage.commits[record.id] == nil ? nil : "the server"
        case .collecting:
            if !stage.untold.isEmpty { return "the ledger" }
            if machine.seen == nil { return "source.toml, which the next scan finds at the latest" }
            if machine.nextDeadline != nil { return "quiet" }
            if machine.files.isEmpty { return "files" }
            return machine.files.keys.contains { isUnderWay($0, of: record) } ? "a file" : nil
        case .uploading:
            if !stage.untold.isEmpty { return "the ledger" }
            return record.files.keys.contains { isUnderWay($0, of: record) } ? "a file" : nil
        }
    }

    /// Whether something will happen to a file, or its user holds it.
    private func isUnderWay(_ name: RelativePath, of post: SourceRecord) -> Bool {
        let path = post.directory.appending(name.bytes)
        return stage.record(path)?.state.isFinal != true || stage.book.isLeaving(path) || stage.files[path] == nil
    }

    // MARK: The end

    /// Ends all faults, submits every post, and checks that each is confirmed with its files or can't be taken.
    mutating func end() {
        stage.restart(as: "anna")
        for round in 0..<60 where problem == nil {
            for _ in 0..<200 where !stage.news.isEmpty || !stage.hashes.isEmpty || !stage.untold.isEmpty {
                stage.tellNext()
                stage.hash()
                stage.tellPosts()
            }
            for path in stage.book.drops.keys.sorted() { stage.act(.resume, on: path) }
            for directory in stage.posts.directories where round % 10 == 0 { release(directory) }
            for key in stage.waiters.keys.sorted() { stage.confirm(key) }
            stage.tellPosts()
            for id in stage.commits.keys.sorted() { stage.answer(id) }
            stage.pass(.seconds(3))
            stage.tick()
            stage.scan()
            check()
        }
        checkWaiters(isEnd: true)
        for directory in stage.posts.directories { checkEnd(of: directory) }
    }

    private mutating func release(_ directory: RelativePath) {
        stage.wish(.resume, for: directory)
        stage.wish(.retry, for: directory)
        stage.wish(.submit, for: directory)
    }

    private mutating func checkEnd(of directory: RelativePath) {
        guard let machine = stage.posts[directory] else { return }
        let record = machine.record
        if stage.posts.isParked(record) { return }
        switch record.stage {
        case .done:
            guard let post = record.post else { return fail("\(directory) is done without a post") }
            if stage.server.revisions[record.id]?[post.revision] == nil {
                fail("the server knows no post \(directory)")
            }
        case .rejected, .cancelled: break
        case .collecting where !stage.files.keys.contains { isMember($0, of: directory) }: break
        default:
            fail("\(directory) is \(describe(machine)) for ever")
        }
    }

    /// Whether a file belongs to a post: the post's description and files of another account do not.
    private func isMember(_ path: RelativePath, of directory: RelativePath) -> Bool {
        path != PostPlaces.description(of: directory)
            && stage.record(path).map { stage.posts.directory(of: $0) == directory } ?? path.isWithin(directory)
    }
}
