import TestSupport
import Testing
import UploadCore

@testable import Portrait

/// Thousands of lives in which anything happens at any time, kills included.
@Suite("Random lives of profile pictures")
struct PortraitWalkTests {
    /// A disk, a server and a user, made up; and what they hold against the machine.
    private struct World {
        var life = PortraitLife(starts: false)
        var random: SeededRandom
        /// What the disk keeps of the newest.
        var stored: PortraitRecord?
        /// The picture whose end was made durable last, by the number of its drop.
        var confirmed: Int?
        /// The requests that the machine believes to be under way, with the picture of each.
        var requests: [PortraitLife.RequestID: UInt64] = [:]
        /// In which order pictures were dropped, by id of this life.
        var number: [UInt64: Int] = [:]
        var dropped: [Int: PortraitDrop] = [:]
        var reports: [RelativePath: PortraitReport] = [:]
        /// Pictures that reached the server, in the order it took them.
        var taken: [Int] = []
        var complaints: [String] = []
        var isSignedIn = true
        var next: [PortraitLife.Event] = []
        /// Pictures that the watch told of and that are being hashed.
        var hashing: [Int] = []

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            begin()
        }

        mutating func begin() {
            let milliseconds = life.milliseconds
            life = PortraitLife(restoring: stored, starts: false)
            life.milliseconds = milliseconds
            requests = [:]
            next = []
            hashing = []
            happen(.started(account: isSignedIn ? "anna" : nil, isAllPaused: chance(20)))
            // The scan finds everything again.
            for (_, drop) in dropped.sorted(by: { $0.key < $1.key }) where reports[drop.path]?.state.isFinal != true {
                happen(.dropped(drop, .found))
            }
        }

        mutating func happen(_ event: PortraitLife.Event) {
            var events = [event]
            while !events.isEmpty {
                let event = events.removeFirst()
                if case .dropped(let drop, _) = event {
                    let before = Set(life.machine.candidates.map(\.id))
                    let actions = life(event)
                    for candidate in life.machine.candidates where !before.contains(candidate.id) {
                        number[candidate.id] = Int(drop.key.low)
                    }
                    events += carryOut(actions)
                } else {
                    events += carryOut(life(event))
                }
            }
        }

        /// - Returns: what follows at once.
        private mutating func carryOut(_ actions: [PortraitMachine.Action]) -> [PortraitLife.Event] {
            var events: [PortraitLife.Event] = []
            for action in actions {
                switch action {
                case .prepare(let id, _): next.append(.prepared(id))
                case .scrap, .announce: break
                case .store(let record):
                    if chance(10) {
                        events.append(.postponed(record.id, PortraitLife.trouble))
                        continue
                    }
                    if let stored, stored.fate == .pending, numbered(record) < numbered(stored) {
                        complaints.append("\(numbered(record)) replaced the newer \(numbered(stored))")
                    }
                    stored = record
                    events.append(.stored(record.id))
                case .note(let record): stored = record
                case .upload(let request, let id):
                    if !requests.isEmpty { complaints.append("two requests at a time") }
                    requests[request] = id
                case .cancel(let request):
                    if requests[request] == nil { complaints.append("cancelled what was not under way") }
                case .settle(let record):
                    if chance(10) {
                        events.append(.unsettled(PortraitLife.trouble))
                        continue
                    }
                    settle(record)
                    events.append(.settled)
                case .report(let report): reports[report.path] = report
                }
            }
            return events
        }

        private mutating func settle(_ record: PortraitRecord) {
            stored = record
            guard record.fate == .done else { return }
            if let confirmed, numbered(record) < confirmed {
                complaints.append("\(numbered(record)) was confirmed after \(confirmed)")
            }
            confirmed = numbered(record)
        }

        private func numbered(_ record: PortraitRecord) -> Int { Int(record.drop.key.low) }

        mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        mutating func drop() {
            let number = dropped.count + 1
            life.milliseconds += 1
            let drop = PortraitLife.drop("\(number).jpg", content: UInt64(number), changed: life.milliseconds)
            dropped[number] = drop
            hashing.append(number)
            if chance(60) { hash() }
        }

        /// Hashing ends in any order.
        mutating func hash() {
            guard let number = hashing.randomElement(using: &random), let drop = dropped[number] else { return }
            hashing.removeAll { $0 == number }
            happen(.dropped(drop, .arrived(UInt64(number))))
        }

        /// The user takes back a picture, which may not be known yet.
        mutating func takeBack() {
            guard let drop = dropped.values.randomElement(using: &random), reports[drop.path]?.state.isFinal != true
            else { return }
            hashing.removeAll { dropped[$0]?.path == drop.path }
            happen(.takenBack(drop.path, drop.key, FileError(code: "removed", message: "", retryable: false)))
        }

        mutating func answer(_ kind: Int) {
            guard let (request, id) = requests.first else { return }
            requests[request] = nil
            let number =
                life.machine.newest.flatMap { $0.id == id ? Int($0.drop.key.low) : nil } ?? self.number[id] ?? 0
            switch kind {
            case 0...3:
                taken.append(number)
                happen(.uploaded(request, url: "http://h/\(number)"))
            case 4...6: happen(.failed(request, .temporary(PortraitLife.trouble)))
            case 7: happen(.failed(request, .permanent(PortraitLife.objection)))
            case 8: happen(.failed(request, .signedOut(PortraitLife.refusal)))
            // The reply is lost, and the server has it.
            case 9:
                taken.append(number)
                happen(.failed(request, .temporary(PortraitLife.trouble)))
            default: happen(.failed(request, .cancelled))
            }
        }

        mutating func step() {
            life.milliseconds += Int64.random(in: 0...3000, using: &random)
            let any = dropped.keys.randomElement(using: &random).flatMap { dropped[$0]?.path } ?? .root
            switch Int.random(in: 0..<23, using: &random) {
            case 0...2: drop()
            case 20...21: hash()
            case 22: if chance(20) { takeBack() }
            case 3...6: if !next.isEmpty { happen(next.removeFirst()) }
            case 7...10: answer(Int.random(in: 0...10, using: &random))
            case 11...12: happen(.tick)
            case 13: happen(.networkChanged)
            case 14:
                isSignedIn = true
                happen(.credentialsChanged(account: "anna"))
            case 15: happen(.sessionRefused(PortraitLife.refusal))
            case 16:
                if chance(20) {
                    isSignedIn = false
                    happen(.signedOut)
                }
            case 17: happen(.paused(any, chance(50)))
            case 18: happen(.allPaused(chance(50)))
            default: if chance(50) { begin() }
            }
        }

        /// Everything works from now on, and nothing new is dropped.
        mutating func comeToRest() {
            while !hashing.isEmpty { hash() }
            happen(.allPaused(false))
            for drop in dropped.values { happen(.paused(drop.path, false)) }
            happen(.credentialsChanged(account: "anna"))
            for _ in 0..<60 {
                life.milliseconds += 130_000
                while !next.isEmpty { happen(next.removeFirst()) }
                answer(0)
                happen(.tick)
            }
        }
    }

    @Test("the newest wins, nothing is lost, and one request is under way at a time", arguments: 0..<20)
    func walk(_ part: UInt64) {
        for seed in (part * 100)..<(part * 100 + 100) {
            var world = World(seed: seed)
            for _ in 0..<120 { world.step() }
            world.drop()
            world.comeToRest()
            let last = world.dropped.count
            #expect(world.complaints.isEmpty, "seed \(seed): \(world.complaints)")
            #expect(world.confirmed == last, "seed \(seed): \(String(describing: world.confirmed)) of \(last)")
            #expect(world.taken.last == last, "seed \(seed): the server took \(world.taken.suffix(5))")
            for (number, drop) in world.dropped {
                let state = world.reports[drop.path]?.state
                #expect(state?.isFinal == true, "seed \(seed): \(number) is \(String(describing: state))")
            }
            #expect(world.life.machine.candidates.isEmpty && world.life.machine.request == nil, "seed \(seed)")
        }
    }
}
