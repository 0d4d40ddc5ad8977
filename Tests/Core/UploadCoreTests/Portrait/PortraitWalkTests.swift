import Testing

@testable import UploadCore

/// `OUTBOX_WALK_EVENTS` (default 240,000) sets the length of the walk, `OUTBOX_WALK_SEED` its seed.
@Suite("Random walks of profile pictures")
struct PortraitWalkTests {
    @Test("the newest picture wins, none is lost, and one request is under way at a time")
    func walk() { takeWalks(events: 240_000, stretch: 120) { PortraitWalk(seed: $0) } }
}

/// One random history of a portrait folder, with its disk, server and user.
private struct PortraitWalk: RandomWalk {
    private var life = PortraitLife(starts: false)
    private var random: WalkRandom
    /// The record of the newest picture on the disk.
    private var stored: PortraitRecord?
    /// The number of the picture whose success was made durable last.
    private var confirmed: Int?
    /// The requests that the machine believes to be under way, with the picture of each.
    private var requests: [RequestID: UInt64] = [:]
    /// The number of each picture, by its id in this life.
    private var numbers: [UInt64: Int] = [:]
    /// Every picture, in the order dropped: number 1 comes first.
    private var drops: [PortraitDrop] = []
    private var reports: [RelativePath: PortraitReport] = [:]
    /// The picture that reached the server last.
    private var taken: Int?
    private(set) var problem: String?
    private var isSignedIn = true
    private var next: [PortraitLife.Event] = []
    /// The numbers of the pictures being hashed.
    private var hashing: [Int] = []

    init(seed: UInt64) {
        random = WalkRandom(seed: seed)
        begin()
    }

    private mutating func begin() {
        let milliseconds = life.milliseconds
        life = PortraitLife(restoring: stored, starts: false)
        life.milliseconds = milliseconds
        requests = [:]
        next = []
        hashing = []
        happen(.started(account: isSignedIn ? "anna" : nil, isAllPaused: chance(20)))
        // The scan finds every picture again.
        for drop in drops where !hasEnded(drop) { happen(.dropped(drop, .found)) }
    }

    private func hasEnded(_ drop: PortraitDrop) -> Bool { reports[drop.path]?.state.isFinal == true }

    private mutating func fail(_ what: String) {
        if problem == nil { problem = what }
    }

    private mutating func happen(_ event: PortraitLife.Event) {
        var events = [event]
        while !events.isEmpty {
            let actions = life(events.removeFirst())
            for candidate in life.machine.candidates { numbers[candidate.id] = number(candidate.drop) }
            events += actions.compactMap { perform($0) }
        }
    }

    /// - Returns: the event that follows at once.
    private mutating func perform(_ action: PortraitMachine.Action) -> PortraitLife.Event? {
        switch action {
        case .prepare(let id, _): next.append(.prepared(id))
        case .scrap, .announce: break
        case .store(let record):
            if chance(10) { return .postponed(record.id, PortraitLife.trouble) }
            if let stored, stored.fate == .pending, number(record.drop) < number(stored.drop) {
                fail("\(number(record.drop)) replaced the newer \(number(stored.drop))")
            }
            stored = record
            return .stored(record.id)
        case .note(let record): stored = record
        case .upload(let request, let id):
            if !requests.isEmpty { fail("two requests at a time") }
            requests[request] = id
        case .cancel(let request): if requests[request] == nil { fail("cancelled a request that had ended") }
        case .settle(let record):
            if chance(10) { return .unsettled(PortraitLife.trouble) }
            stored = record
            if record.fate == .done {
                if let confirmed, number(record.drop) < confirmed {
                    fail("\(number(record.drop)) was confirmed after \(confirmed)")
                }
                confirmed = number(record.drop)
            }
            return .settled
        case .report(let report): reports[report.path] = report
        }
        return nil
    }

    private func number(_ drop: PortraitDrop) -> Int { Int(drop.key.low) }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func drop() {
        let number = drops.count + 1
        life.milliseconds += 1
        drops.append(PortraitLife.drop("\(number).jpg", content: UInt64(number), changed: life.milliseconds))
        hashing.append(number)
        if chance(60) { hash() }
    }

    /// Ends the hashing of any picture.
    private mutating func hash() {
        guard let index = hashing.indices.randomElement(using: &random) else { return }
        let number = hashing.remove(at: index)
        happen(.dropped(drops[number - 1], .arrived(UInt64(number))))
    }

    /// The user removes a picture, which the machine may not know yet.
    private mutating func takeBack() {
        guard let drop = drops.randomElement(using: &random), !hasEnded(drop) else { return }
        let number = number(drop)
        hashing.removeAll { $0 == number }
        happen(.takenBack(drop.path, drop.key, PortraitLife.removal))
    }

    private mutating func answer(_ kind: Int) {
        guard let (request, id) = requests.first else { return }
        requests[request] = nil
        let newest = life.machine.newest.flatMap { $0.id == id ? number($0.drop) : nil }
        // In case 9 the server has the picture, but its answer is lost.
        if (0...3).contains(kind) || kind == 9 { taken = newest ?? numbers[id] ?? 0 }
        switch kind {
        case 0...3: happen(.uploaded(request, url: "http://h/1"))
        case 4...6, 9: happen(.failed(request, .temporary(PortraitLife.trouble)))
        case 7: happen(.failed(request, .permanent(PortraitLife.objection)))
        case 8: happen(.failed(request, .signedOut(PortraitLife.refusal)))
        default: happen(.failed(request, .cancelled))
        }
    }

    mutating func step() {
        life.milliseconds += Int64.random(in: 0...3000, using: &random)
        switch Int.random(in: 0..<23, using: &random) {
        case 0...2: drop()
        case 3...6: if !next.isEmpty { happen(next.removeFirst()) }
        case 7...10: answer(Int.random(in: 0...10, using: &random))
        case 11...12: happen(.tick)
        case 13: happen(.networkChanged)
        case 14:
            isSignedIn = true
            happen(.credentialsChanged(account: "anna"))
        case 15: happen(.serverTrouble(chance(80) ? PortraitLife.refusal : nil))
        case 16:
            if chance(20) {
                isSignedIn = false
                happen(.signedOut)
            }
        case 17: happen(.paused(drops.randomElement(using: &random)?.path ?? .root, chance(50)))
        case 18: happen(.allPaused(chance(50)))
        case 19: if chance(50) { begin() }
        case 20...21: hash()
        default: if chance(20) { takeBack() }
        }
    }

    /// Drops one more picture. From then on everything works.
    mutating func end() {
        drop()
        while !hashing.isEmpty { hash() }
        happen(.allPaused(false))
        for drop in drops { happen(.paused(drop.path, false)) }
        happen(.credentialsChanged(account: "anna"))
        for _ in 0..<60 {
            life.milliseconds += 130_000
            while !next.isEmpty { happen(next.removeFirst()) }
            answer(0)
            happen(.tick)
        }
        if confirmed != drops.count { fail("\(String(describing: confirmed)) of \(drops.count) was confirmed last") }
        if taken != drops.count { fail("the server took \(String(describing: taken)) of \(drops.count) last") }
        if let drop = drops.first(where: { !hasEnded($0) }) { fail("\(drop.path) has not ended") }
        let machine = life.machine
        if !machine.candidates.isEmpty || machine.errand.request != nil { fail("work is left") }
    }
}
