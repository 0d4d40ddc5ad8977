import Testing

@testable import UploadCore

/// `OUTBOX_WALK_EVENTS` (default 100,000) sets the length of the walk, `OUTBOX_WALK_SEED` its seed.
@Suite("Random walks of files that leave the outbox, over kills and failures")
struct RetirementWalkTests {
    @Test("lose no file, act only on durable destinations, and end with every file at its destination")
    func walk() { takeWalks(events: 100_000, stretch: 200) { RetirementWalk(seed: $0) } }
}

/// One random history of an outbox, a holding area, a destination and a ledger.
private struct RetirementWalk: RandomWalk {
    /// A commit in progress. The path waits for it, if there is one.
    private struct Commit {
        var path: RelativePath?
        var writes: [LedgerWrite]
    }

    private var random: WalkRandom
    private let fate: Retirement.Fate
    private var retirement: Retirement
    private(set) var problem: String?

    // The disk. A file is known by its inode.
    private var outbox: [RelativePath: FileIdentity] = [:]
    private var holding: [RelativePath: FileIdentity] = [:]
    private var moved: [RelativePath: FileIdentity] = [:]
    private var deleted: Set<UInt64> = []
    private var lastInode: UInt64 = 0
    private var lastChange: Int64 = 0

    // The ledger.
    private var durable: [RelativePath: DropRecord] = [:]
    private var recent: [RelativePath: DropRecord?] = [:]
    private var commits: [Commit] = []

    /// Files that the watch reported and the server has not confirmed.
    private var underWay: Set<RelativePath> = []
    private var hashes: [RelativePath] = []
    private var failsSometimes = true

    private let names: [RelativePath] = ["a", "b", "d/a"]
    private static let key = ContentKey(high: 1, low: 0)
    private static let seal = ContentSeal(size: 1, digest: 1)

    init(seed: UInt64) {
        random = WalkRandom(seed: seed)
        fate = seed % 2 == 0 ? .delete : .move(to: "Sent")
        retirement = Retirement(fate: fate)
    }

    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<15: write()
        case 15..<40: if let path = underWay.sorted().randomElement(using: &random) { confirm(path) }
        case 40..<60: hashNext()
        case 60..<85: commitNext()
        case 85..<95: scan()
        default: kill()
        }
        check()
    }

    mutating func end() {
        failsSometimes = false
        scan()
        for _ in 0..<1000 {
            while !commits.isEmpty { commitNext() }
            while !hashes.isEmpty { hashNext() }
            guard let path = underWay.min() else { break }
            confirm(path)
        }
        while !commits.isEmpty || !hashes.isEmpty {
            commitNext()
            hashNext()
        }
        scan()
        check()
        if !outbox.isEmpty || !holding.isEmpty { fail("left: \(outbox.keys) \(holding.keys)") }
        for (path, file) in moved where durable[path]?.identity?.inode != file.inode {
            fail("the ledger does not know \(path)")
        }
    }

    private mutating func fail(_ text: String) { problem = problem ?? text }
    private mutating func fails() -> Bool { failsSometimes && random.oneIn(6) }

    // MARK: The world

    private mutating func write() {
        let path = random.pick(names)
        guard outbox[path] == nil else { return }
        lastInode += 1
        lastChange += 1
        outbox[path] = FileIdentity(
            device: 1, inode: lastInode, size: 1, modified: 1, changed: lastChange, born: Int64(lastInode))
        underWay.insert(path)
    }

    /// The server confirms the content of a file.
    private mutating func confirm(_ path: RelativePath) {
        // While a file with this name is held, a new one waits.
        if retirement.isHeld(path) { return }
        guard let file = outbox[path] else {
            underWay.remove(path)
            return
        }
        if retirement.isStuck(path), record(path)?.identity != file { retirement.forgetStuck(path) }
        underWay.remove(path)
        var record = DropRecord(path: path, state: .done, acceptedAt: WallTime(milliseconds: 0))
        record.key = Self.key
        record.identity = file
        record.disposal = .pending
        store([.drop(record)], for: nil)
        handle(.confirmed, path)
    }

    private mutating func hashNext() {
        guard !hashes.isEmpty else { return }
        let path = hashes.removeFirst()
        let file = holding[path]
        let content = DropContent(key: Self.key, seal: Self.seal)
        let type = MediaType(kind: .image, mime: "image/jpeg")
        let finding = file.map { HashFinding.content($0, type, content, digests: [1]) }
        handle(.checked(fails() ? .changed : finding ?? .missing), path)
    }

    private mutating func commitNext() {
        guard !commits.isEmpty else { return }
        let commit = commits.removeFirst()
        for write in commit.writes {
            switch write {
            case .drop(let record): durable[record.path] = record
            case .forgetDrop(let path): durable[path] = nil
            default: break
            }
        }
        if let path = commit.path { handle(.durable, path) }
    }

    private mutating func scan() {
        for path in holding.keys.sorted() where !retirement.held.contains(path) { settle(putBack(path)) }
        retirement.forgetWithdrawnNames()
        for path in retirement.takeStuck() { handle(.confirmed, path) }
    }

    private mutating func kill() {
        (retirement, commits, hashes, recent) = (Retirement(fate: fate), [], [], [:])
        for path in holding.keys.sorted() { _ = putBack(path) }
        underWay = Set(outbox.keys)
    }

    private mutating func putBack(_ path: RelativePath) -> RelativePath? {
        guard var file = holding.removeValue(forKey: path) else { return nil }
        lastChange += 1
        file.changed = lastChange
        let name = free(path, in: outbox)
        outbox[name] = file
        return name
    }

    private func free(
        _ path: RelativePath, in files: [RelativePath: FileIdentity], _ except: Set<RelativePath> = []
    ) -> RelativePath {
        var (name, number) = (path, 1)
        while files[name] != nil || except.contains(name) {
            number += 1
            name = path.parent.appending(path.name + Array(" (\(number))".utf8))
        }
        return name
    }

    private mutating func settle(_ path: RelativePath?) {
        if let path, outbox[path] != nil { underWay.insert(path) }
    }

    private func record(_ path: RelativePath) -> DropRecord? { recent[path] ?? durable[path] }

    private mutating func store(_ writes: [LedgerWrite], for path: RelativePath?) {
        for write in writes {
            switch write {
            case .drop(let record): recent[record.path] = .some(record)
            case .forgetDrop(let path): recent[path] = .some(nil)
            default: break
            }
        }
        commits.append(Commit(path: path, writes: writes))
    }

    // MARK: Carrying out

    private mutating func handle(_ event: RetirementEvent, _ path: RelativePath) {
        let confirmation = UploadCore.Confirmation(
            key: Self.key, seal: Self.seal, scope: RemoteScope("test"), remote: RemoteObject(id: nil, url: nil),
            confirmedAt: WallTime(milliseconds: 0))
        var known = record(path)
        if underWay.contains(path) { known?.state = .hashing }
        let facts = Retirement.Facts(
            record: known, isUnderWay: underWay.contains(path), confirmation: confirmation)
        for action in retirement.handle(event, of: path, facts) {
            switch action {
            case .retirement(let path, let step): perform(step, path)
            case .settle(let path): settle(path)
            default: break
            }
        }
    }

    private mutating func perform(_ step: RetirementStep, _ path: RelativePath) {
        switch step {
        case .take(let identity):
            guard outbox[path] == identity else { return handle(.replaced, path) }
            if fails() { return handle(.failed(errno: 30), path) }
            // An earlier file of this name that could not return makes room.
            settle(putBack(path))
            outbox[path] = nil
            holding[path] = identity
            handle(.taken, path)
        case .check: hashes.append(path)
        case .findName(let wanted, let except):
            handle(fails() ? .failed(errno: 20) : .named(free(wanted, in: moved, except)), path)
        case .commit(let writes): store(writes, for: path)
        case .store(let writes): store(writes, for: nil)
        case .release(let target): release(path, to: target)
        case .delete: delete(path)
        case .putBack:
            if fails() { return handle(.failed(errno: 30), path) }
            let name = putBack(path)
            handle(.back(name, name.flatMap { outbox[$0] }), path)
        case .reportStuck, .reportWorking: break
        }
    }

    private mutating func release(_ path: RelativePath, to target: RelativePath) {
        guard let file = holding[path] else { return fail("\(path) is released, and not held") }
        if durable[target]?.disposal != .moved(from: path) { fail("\(path) moves before the ledger knows where") }
        if moved[target] != nil { fail("\(target) is overwritten") }
        if fails() { return handle(.failed(errno: 17), path) }
        holding[path] = nil
        moved[target] = file
        handle(.left, path)
    }

    private mutating func delete(_ path: RelativePath) {
        guard let file = holding[path] else { return fail("\(path) is deleted, and not held") }
        let isAnothers = underWay.contains(path) || record(path)?.identity?.inode != file.inode
        if !isAnothers, durable[path]?.disposal != .deleted { fail("\(path) is deleted before the ledger knows") }
        if fails() { return handle(.failed(errno: 30), path) }
        holding[path] = nil
        deleted.insert(file.inode)
        handle(.left, path)
    }

    // MARK: What must hold after each event

    private mutating func check() {
        let places = [outbox, holding, moved].flatMap { $0.values.map(\.inode) } + deleted
        if places.sorted() != Array(1...max(lastInode, 1)).filter({ $0 <= lastInode }) {
            fail("a file is lost, or at two places")
        }
        for (path, stage) in retirement.stages where stage != .stuck {
            if !hashes.contains(path), !commits.contains(where: { $0.path == path }) {
                fail("\(path) is \(stage), and waits for nothing")
            }
        }
    }
}
