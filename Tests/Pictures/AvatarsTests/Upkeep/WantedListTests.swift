import PictureJobs
import Testing
import UploadCore

@testable import Avatars

struct WantedListTests {
    private func read(_ text: String) -> WantedList {
        WantedList(text, styles: ["list": [.rect(width: 96, height: 96)]])
    }

    @Test func `each line is a URL and perhaps a style`() throws {
        let list = read(
            "http://h/a\n\n# a comment\r\n  https://h/b rect:10x10\r\nhttp://h/a\nhttp://h/c\tlist  \nhttp://h/a list")
        #expect(list.problems.isEmpty)
        #expect(list.wishes.map(\.address.url) == ["http://h/a", "https://h/b", "http://h/c", "http://h/a"])
        #expect(list.wishes.map(\.style.name) == ["original", "rect:10x10", "list", "list"])
    }

    @Test func `a byte order mark and blanks around a URL do not count`() {
        let list = read("\u{FEFF}http://h/a \r\n http://h/b\t\n")
        #expect(list.wishes.map(\.address.url) == ["http://h/a", "http://h/b"])
        #expect(read("\u{FEFF}# a comment\n").problems.isEmpty && read("\u{FEFF}") == WantedList())
    }

    @Test func `lines that can't be read are told by number, and the others count`() {
        let list = read("ftp://h/a\nhttp://h/b\nhttp://h/c star:5\nhttp://h/d original more\n")
        #expect(list.problems.map(\.line) == [1, 3, 4])
        #expect(list.wishes.map(\.address.url) == ["http://h/b"])
    }

    @Test func `a list that is too long is cut where it says so`() {
        let lines = (0..<WantedList.mostWishes + 5).map { "http://h/\($0)" }
        let list = read((lines + lines).joined(separator: "\n"))
        #expect(list.wishes.count == WantedList.mostWishes)
        #expect(list.problems.map(\.line) == [WantedList.mostWishes + 1])
        #expect(read(String(repeating: "nonsense\n", count: 1000)).problems.count == WantedList.mostProblems)
    }

    @Test func `an empty file wants nothing`() {
        #expect(read("") == WantedList())
        #expect(read("\n\n#x") == WantedList())
    }
}

struct WantedPlanTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private let wishes: [AvatarWish]

    init() throws {
        wishes = try (0..<3).map { .init(address: try AvatarAddress("http://h/\($0)"), style: .original) }
    }

    @Test func `what is new is due at once, as many as may run`() {
        var plan = WantedPlan(maximumRunning: 2)
        #expect(plan.replace(wishes, now: start).isEmpty)
        #expect(plan.start(now: start) == Array(wishes[..<2]))
        #expect(plan.start(now: start).isEmpty)
        #expect(plan.nextDue == nil)
        plan.ended(wishes[0], .fresh(.seconds(500)), now: start)
        #expect(plan.start(now: start) == [wishes[2]])
    }

    @Test func `a fresh picture comes again when its freshness is over, but not sooner than in a minute`() {
        var plan = WantedPlan(maximumRunning: 4)
        _ = plan.replace(Array(wishes[..<2]), now: start)
        _ = plan.start(now: start)
        plan.ended(wishes[0], .fresh(.seconds(500)), now: start)
        plan.ended(wishes[1], .fresh(.seconds(1)), now: start)
        #expect(plan.nextDue == start + .seconds(60))
        #expect(plan.start(now: start + .seconds(59)).isEmpty)
        #expect(plan.start(now: start + .seconds(60)) == [wishes[1]])
        #expect(plan.nextDue == start + .seconds(500))
    }

    @Test func `pauses after interruptions double up to an hour, and end with a success`() {
        var plan = WantedPlan(maximumRunning: 4)
        _ = plan.replace([wishes[0]], now: start)
        var now = start
        var pauses: [Duration] = []
        for _ in 0..<8 {
            #expect(plan.start(now: now) == [wishes[0]])
            plan.ended(wishes[0], .interrupted, now: now)
            let due = plan.nextDue ?? now
            pauses.append(due - now)
            now = due
        }
        #expect(pauses == [60, 120, 240, 480, 960, 1920, 3600, 3600].map { .seconds($0) })
        _ = plan.start(now: now)
        plan.ended(wishes[0], .fresh(.seconds(100)), now: now)
        _ = plan.start(now: now + .seconds(100))
        plan.ended(wishes[0], .interrupted, now: now + .seconds(100))
        #expect(plan.nextDue == now + .seconds(160))
    }

    @Test func `what was interrupted is due at once when the network changes, and nothing else`() {
        var plan = WantedPlan(maximumRunning: 4)
        _ = plan.replace(wishes, now: start)
        _ = plan.start(now: start)
        plan.ended(wishes[0], .interrupted, now: start)
        plan.ended(wishes[1], .failed(.seconds(600)), now: start)
        plan.ended(wishes[2], .fresh(.seconds(600)), now: start)
        plan.retryInterrupted(now: start + .seconds(1))
        #expect(plan.start(now: start + .seconds(1)) == [wishes[0]])
        // The wish's older due time is still in the queue, but has no effect.
        #expect(plan.start(now: start + .seconds(100)).isEmpty)
    }

    @Test func `nothing starts while it is held`() {
        var plan = WantedPlan(maximumRunning: 1)
        _ = plan.replace(wishes, now: start)
        _ = plan.start(now: start)
        plan.hold(until: start + .seconds(60))
        plan.ended(wishes[0], .interrupted, now: start)
        plan.retryInterrupted(now: start + .seconds(1))
        #expect(plan.start(now: start + .seconds(59)).isEmpty)
        #expect(plan.nextDue == start + .seconds(60))
        #expect(plan.start(now: start + .seconds(60)).count == 1)
    }

    @Test func `what was removed is due at once, also what is being looked after`() {
        var plan = WantedPlan(maximumRunning: 4)
        _ = plan.replace(wishes, now: start)
        _ = plan.start(now: start)
        plan.ended(wishes[0], .fresh(.seconds(500)), now: start)
        plan.ended(wishes[1], .fresh(.seconds(500)), now: start)
        plan.forget([wishes[0].address, wishes[2].address], now: start + .seconds(1))
        #expect(plan.start(now: start + .seconds(1)) == [wishes[0]])
        plan.ended(wishes[2], .fresh(.seconds(500)), now: start + .seconds(2))
        #expect(plan.start(now: start + .seconds(2)) == [wishes[2]])
        plan.ended(wishes[2], .fresh(.seconds(500)), now: start + .seconds(3))
        #expect(plan.nextDue == start + .seconds(500))
    }

    @Test func `older times are cleared away`() {
        var plan = WantedPlan(maximumRunning: 4)
        _ = plan.replace(wishes, now: start)
        _ = plan.start(now: start)
        for wish in wishes { plan.ended(wish, .fresh(.seconds(5000)), now: start) }
        for second in 1...1000 {
            let now = start + .seconds(second)
            plan.forget([wishes[0].address], now: now)
            #expect(plan.start(now: now) == [wishes[0]])
            plan.ended(wishes[0], .fresh(.seconds(5000)), now: now)
        }
        #expect(plan.queuedTimes <= 2 * wishes.count + 64)
        #expect(plan.nextDue == start + .seconds(5000))
    }

    @Test func `what is no longer wanted stops, and what stays keeps its time`() {
        var plan = WantedPlan(maximumRunning: 4)
        _ = plan.replace(wishes, now: start)
        _ = plan.start(now: start)
        plan.ended(wishes[0], .fresh(.seconds(500)), now: start)
        #expect(plan.replace([wishes[0], wishes[2]], now: start) == [wishes[1]])
        plan.ended(wishes[1], .fresh(.seconds(500)), now: start)
        plan.ended(wishes[2], .failed(.seconds(600)), now: start)
        #expect(plan.nextDue == start + .seconds(500))
        #expect(plan.replace([], now: start).isEmpty)
        #expect(plan.start(now: start + .seconds(10_000)).isEmpty)
        #expect(plan.nextDue == nil)
    }
}
