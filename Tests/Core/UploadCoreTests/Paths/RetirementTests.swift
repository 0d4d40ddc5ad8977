import Testing

@testable import UploadCore

/// The outcome for a file on its way out of the outbox, by its stage and the event.
@Suite("Files on their way out of the outbox")
struct RetirementTests {
    /// The stage of a file that is to be moved. `differs` and `refused`: the file returns, because its content differs,
    /// or because its destination refused it.
    enum Standing: String, CaseIterable {
        case idle, taking, checking, naming, recording, leaving, differs, refused, stuck
    }

    /// The events. `changed`: the hash differs from the confirmed content.
    enum Happening: String, CaseIterable {
        case confirmed, taken, replaced, away, checked, changed, named, durable, left, back, failed
    }

    // The stage afterwards; t: take, c: check, n: find a name, w: commit the destination, u: store without waiting,
    // l: release, p: put back, !: report that the file is stuck, o: report that files leave, s: settle, x: remove the
    // sidecar, g: announce that the path is gone, r: report the new path.
    private static let table = """
                     confirmed    taken        replaced     away         checked      changed      named        durable      left         back         failed
        idle         taking t     idle         idle         idle         idle         idle         idle         idle         idle         idle         idle
        taking       taking       checking c   idle s       idle         taking       taking       taking       taking       taking       taking       stuck !
        checking     checking     checking     checking     checking     naming n     differs p    checking     checking     checking     checking     checking
        naming       naming       naming       naming       naming       naming       naming       recording w  naming       naming       naming       refused p
        recording    recording    recording    recording    recording    recording    recording    recording    leaving l    recording    recording    recording
        leaving      leaving      leaving      leaving      leaving      leaving      leaving      leaving      leaving      idle xgro    leaving      refused p
        differs      differs      differs      differs      differs      differs      differs      differs      differs      differs      idle os      stuck !
        refused      refused      refused      refused      refused      refused      refused      refused      refused      refused      stuck u!     stuck u!
        stuck        stuck        stuck        stuck        stuck        stuck        stuck        stuck        stuck        stuck        stuck        stuck
        """

    private static let path: RelativePath = "trip/a.jpg"
    private static let target: RelativePath = "Sent/trip/a.jpg"

    private static let record: DropRecord = {
        var record = DropRecord(path: path, state: .done, acceptedAt: WallTime(milliseconds: 0))
        record.key = ContentKey(high: 1, low: 0)
        record.identity = FileIdentity(device: 1, inode: 1, size: 10, modified: 1, changed: 1, born: 1)
        record.disposal = .pending
        return record
    }()

    private static var confirmation: UploadCore.Confirmation {
        UploadCore.Confirmation(
            key: ContentKey(high: 1, low: 0), seal: ContentSeal(size: 10, digest: 1), scope: RemoteScope("test"),
            remote: RemoteObject(id: nil, url: nil), confirmedAt: WallTime(milliseconds: 0))
    }

    private static func finding(key: UInt64 = 1, digest: UInt64 = 1) -> HashFinding {
        let content = DropContent(
            key: ContentKey(high: key, low: 0), seal: ContentSeal(size: 10, digest: digest))
        return .content(
            FileIdentity(device: 1, inode: 1, size: 10, modified: 1, changed: 2, born: 1),
            MediaType(kind: .image, mime: "image/jpeg"), content, digests: [1])
    }

    private static func event(_ happening: Happening) -> RetirementEvent {
        switch happening {
        case .confirmed: .confirmed
        case .taken: .taken
        case .replaced: .replaced
        case .away: .outboxAway
        case .checked: .checked(finding())
        case .changed: .checked(finding(key: 2))
        case .named: .named(target)
        case .durable: .durable
        case .left: .left
        case .back: .back(path, record.identity)
        case .failed: .failed(errno: 28)
        }
    }

    /// The events that lead to a stage.
    private static func way(to standing: Standing) -> [Happening] {
        switch standing {
        case .idle: []
        case .taking: [.confirmed]
        case .checking: [.confirmed, .taken]
        case .naming: [.confirmed, .taken, .checked]
        case .recording: [.confirmed, .taken, .checked, .named]
        case .leaving: [.confirmed, .taken, .checked, .named, .durable]
        case .differs: [.confirmed, .taken, .changed]
        case .refused: [.confirmed, .taken, .checked, .named, .durable, .failed]
        case .stuck: [.confirmed, .failed]
        }
    }

    private static var facts: Retirement.Facts { Retirement.Facts(record: record, confirmation: confirmation) }

    /// A file at a stage.
    private struct Bench {
        var retirement: Retirement

        init(_ standing: Standing = .idle, fate: Retirement.Fate = .move(to: "Sent")) {
            retirement = Retirement(fate: fate)
            for happening in way(to: standing) { _ = handle(event(happening)) }
        }

        mutating func handle(_ event: RetirementEvent, _ facts: Retirement.Facts = facts) -> [PathAction] {
            retirement.handle(event, of: path, facts)
        }

        var standing: Standing {
            switch retirement.stages[path] {
            case nil: .idle
            case .taking: .taking
            case .checking: .checking
            case .naming: .naming
            case .recording: .recording
            case .leaving: .leaving
            case .returning(_, _, nil): .differs
            case .returning: .refused
            case .stuck: .stuck
            }
        }
    }

    private static func mark(_ action: PathAction) -> String {
        switch action {
        case .retirement(path, .take): "t"
        case .retirement(path, .check): "c"
        case .retirement(path, .findName): "n"
        case .retirement(path, .commit): "w"
        case .retirement(path, .store): "u"
        case .retirement(path, .release(to: target)): "l"
        case .retirement(path, .delete): "d"
        case .retirement(path, .putBack): "p"
        case .retirement(path, .reportStuck(errno: 28)): "!"
        case .retirement(path, .reportWorking): "o"
        case .settle(path): "s"
        case .removeSidecar(path): "x"
        case .announceGone(path): "g"
        case .report(target): "r"
        default: "?"
        }
    }

    @Test("follow the table of stages and events")
    func table() {
        var lines = [([""] + Happening.allCases.map(\.rawValue)).map(Self.cell).joined()]
        for standing in Standing.allCases {
            let cells = Happening.allCases.map { happening in
                var bench = Bench(standing)
                let marks = bench.handle(Self.event(happening)).map(Self.mark).joined()
                return marks.isEmpty ? bench.standing.rawValue : "\(bench.standing.rawValue) \(marks)"
            }
            lines.append(([standing.rawValue] + cells).map(Self.cell).joined())
        }
        let text = lines.map { $0.trimmingSuffix(while: { $0 == " " }) }.joined(separator: "\n")
        #expect(text == Self.table)
    }

    private static func cell(_ text: String) -> String {
        text + String(repeating: " ", count: max(1, 13 - text.count))
    }

    // MARK: Writes

    @Test("have their destination stored at both paths before they move")
    func destination() {
        var bench = Bench(.naming)
        var (moved, trace) = (Self.record, Self.record)
        moved.path = Self.target
        moved.disposal = .moved(from: Self.path)
        trace.disposal = .movedAway(to: Self.target)
        #expect(
            bench.handle(.named(Self.target)) == [.retirement(Self.path, .commit([.drop(moved), .drop(trace)]))])
    }

    @Test("get no name that another file is about to take")
    func reserved() {
        var bench = Bench(.recording)
        let other: RelativePath = "trip/a (2).jpg"
        var record = Self.record
        record.path = other
        let facts = Retirement.Facts(record: record, confirmation: Self.confirmation)
        for event in [RetirementEvent.confirmed, .taken] { _ = bench.retirement.handle(event, of: other, facts) }
        var later = bench
        #expect(
            bench.retirement.handle(.checked(Self.finding()), of: other, facts)
                == [.retirement(other, .findName(like: "Sent/trip/a (2).jpg", except: [Self.target]))])
        for happening in [Happening.durable, .left] { _ = later.handle(Self.event(happening)) }
        #expect(
            later.retirement.handle(.checked(Self.finding()), of: other, facts)
                == [.retirement(other, .findName(like: "Sent/trip/a (2).jpg", except: []))])
    }

    @Test("are recorded as deleted before the deletion")
    func deletion() {
        var bench = Bench(.checking, fate: .delete)
        var trace = Self.record
        trace.disposal = .deleted
        #expect(bench.handle(.checked(Self.finding())) == [.retirement(Self.path, .commit([.drop(trace)]))])
        #expect(bench.handle(.durable) == [.retirement(Self.path, .delete)])
        #expect(bench.handle(.left) == [.retirement(Self.path, .reportWorking)])
    }

    @Test("leave the record of another file alone that took the name", arguments: [true, false])
    func newcomer(isUnderWay: Bool) {
        var bench = Bench(.checking, fate: .delete)
        var other = Self.record
        other.identity?.inode = 2
        let facts = Retirement.Facts(
            record: isUnderWay ? Self.record : other, isUnderWay: isUnderWay, confirmation: Self.confirmation)
        #expect(bench.handle(.checked(Self.finding()), facts) == [.retirement(Self.path, .commit([]))])
    }

    @Test("let another file settle that took the name meanwhile, and leave it its sidecar")
    func newcomerSettles() {
        var bench = Bench(.leaving)
        let facts = Retirement.Facts(record: Self.record, isUnderWay: true)
        #expect(bench.handle(.left, facts).map(Self.mark).joined() == "gros")
    }

    @Test("that can't leave get their old record back, with the identity that the return gave them")
    func refused() {
        var bench = Bench(.refused)
        var known = Self.record
        known.identity?.changed = 99
        let actions = bench.handle(.back(Self.path, known.identity))
        #expect(
            actions == [
                .retirement(Self.path, .store([.forgetDrop(Self.target), .drop(known)])),
                .retirement(Self.path, .reportStuck(errno: 28)),
            ])
    }

    @Test("that return under another name settle there")
    func otherName() {
        var bench = Bench(.refused)
        let actions = bench.handle(.back("trip/a (2).jpg", Self.record.identity))
        #expect(
            actions == [
                .retirement(Self.path, .store([.forgetDrop(Self.target)])), .settle("trip/a (2).jpg"),
                .retirement(Self.path, .reportStuck(errno: 28)),
            ])
    }

    // MARK: When nothing leaves

    @Test("stay unless the server confirmed exactly these bytes")
    func unconfirmed() {
        var (otherSeal, byMD5) = (Self.facts, Self.facts)
        otherSeal.confirmation?.seal.digest = 2
        byMD5.confirmation?.isByMD5Alone = true
        for facts in [otherSeal, byMD5, Retirement.Facts(record: Self.record)] {
            var bench = Bench(.checking)
            #expect(bench.handle(.checked(Self.finding()), facts) == [.retirement(Self.path, .putBack)])
        }
        for finding in [HashFinding.changed, .missing, Self.finding(key: 2), Self.finding(digest: 2)] {
            var bench = Bench(.checking)
            #expect(bench.handle(.checked(finding)) == [.retirement(Self.path, .putBack)])
        }
    }

    @Test("do not begin unless they are done, known and at rest")
    func unfit() {
        var records: [DropRecord?] = [nil]
        for change: (inout DropRecord) -> Void in [
            { $0.state = .failed }, { $0.disposal = nil }, { $0.disposal = .deleted }, { $0.identity = nil },
            { $0.identity?.changed = .min },
        ] {
            var record = Self.record
            change(&record)
            records.append(record)
        }
        for record in records {
            var bench = Bench()
            #expect(bench.handle(.confirmed, Retirement.Facts(record: record)) == [])
        }
        var (hashing, keeping) = (Bench(), Bench(fate: .stay))
        #expect(hashing.handle(.confirmed, Retirement.Facts(record: Self.record, isHashing: true)) == [])
        #expect(keeping.handle(.confirmed) == [])
    }

    // MARK: What the path book asks

    @Test("explain the loss of their name once, until the next full scan")
    func absence() {
        var bench = Bench(.leaving)
        _ = bench.handle(.left)
        var other = bench
        let answers = [1, 2].map { _ in bench.retirement.explainsAbsence(of: Self.path) }
        #expect(answers == [true, false])
        other.retirement.forgetWithdrawnNames()
        let later = other.retirement.explainsAbsence(of: Self.path)
        #expect(!later)
    }

    @Test("count as held at every stage in between", arguments: Standing.allCases)
    func held(_ standing: Standing) {
        var bench = Bench(standing)
        let isHeld = standing != .idle && standing != .stuck
        #expect(bench.retirement.isHeld(Self.path) == isHeld)
        #expect(bench.retirement.held == (isHeld ? [Self.path] : []))
        #expect(bench.retirement.covers(Self.path) == (standing != .idle))
        bench.retirement.letGo()
        #expect(bench.retirement.covers(Self.path) == (standing == .stuck))
        #expect(bench.retirement.takeStuck() == (standing == .stuck ? [Self.path] : []))
        #expect(!bench.retirement.covers(Self.path))
    }
}

@Suite("The path book and files on their way out")
struct RetiringPathTests {
    private let path: RelativePath = "a"

    /// A stage with a confirmed file in the holding area.
    private func stage() -> PathStage {
        var stage = PathStage(fate: .delete)
        stage.handle(.scanned(PathFindings(paths: [])))
        stage.write(path, 1)
        stage.tellNext()
        stage.pass(.seconds(5))
        stage.tellNext()
        stage.hash()
        stage.confirm(PathStage.key(1))
        stage.handle(.retirement(path, .confirmed))
        return stage
    }

    /// What hashing the held file finds.
    private func finding(_ stage: PathStage) throws -> HashFinding {
        let identity = try #require(stage.files[path]?.identity)
        let content = DropContent(
            key: PathStage.key(1), seal: ContentSeal(size: UInt64(FragmentPlan.sectionSize), digest: 1))
        return .content(identity, MediaType(kind: .image, mime: "image/jpeg"), content, digests: [1])
    }

    @Test("a name that the agent itself removed does not count as removed")
    func removal() {
        var stage = stage()
        stage.handle(.retirement(path, .taken))
        stage.remove(path)
        stage.tellNext()
        stage.pass(PathBook.removalGrace)
        stage.tick()
        #expect(stage.ledger[path]?.state == .done)
        #expect(stage.book.isRetiring(path))
    }

    @Test("a file that was deleted is not taken for a new one by a report from before")
    func lateReport() throws {
        var stage = stage()
        let identity = try #require(stage.files[path]?.identity)
        let finding = try finding(stage)
        stage.handle(.retirement(path, .taken))
        stage.remove(path)
        stage.tellNext()
        for event in [RetirementEvent.checked(finding), .durable, .left] { stage.handle(.retirement(path, event)) }
        #expect(stage.ledger[path]?.disposal == .deleted)

        stage.handle(.ready(path, identity, objection: nil))

        #expect(stage.hashes.isEmpty)
        #expect(stage.book.drops[path] == nil)
    }

    @Test("a held file is not hashed as a new one")
    func held() throws {
        var stage = stage()
        stage.handle(.retirement(path, .taken))
        let identity = try #require(stage.files[path]?.identity)
        stage.handle(.ready(path, identity, objection: nil))
        #expect(stage.hashes.isEmpty)
    }

    @Test("a stuck file stays, and another file with its name is taken")
    func stuck() throws {
        var stage = stage()
        stage.handle(.retirement(path, .failed(errno: 30)))
        let identity = try #require(stage.files[path]?.identity)
        stage.handle(.ready(path, identity, objection: nil))
        #expect(stage.hashes.isEmpty)
        #expect(stage.book.isRetiring(path))
        stage.write(path, 2, inPlace: false)
        let other = try #require(stage.files[path]?.identity)
        stage.handle(.ready(path, other, objection: nil))
        #expect(stage.hashes.map(\.path) == [path])
        #expect(!stage.book.isRetiring(path))
    }

    @Test("the server's confirmation decides whether a held file leaves")
    func confirmation() throws {
        var stage = stage()
        stage.handle(.retirement(path, .taken))
        let finding = try finding(stage)
        var unconfirmed = stage
        unconfirmed.confirmations = [:]
        unconfirmed.handle(.retirement(path, .checked(finding)))
        #expect(unconfirmed.actions == [.retirement(path, .putBack)])
        stage.handle(.retirement(path, .checked(finding)))
        var trace = try #require(stage.ledger[path])
        trace.disposal = .deleted
        #expect(stage.actions == [.retirement(path, .commit([.drop(trace)]))])
    }
}
