import Testing
import UploadCore

/// The machine holds four waiting uploads; the others are only in the ledger.
@Suite("The window of the queue")
struct WindowTests {
    private static let window = 4

    private static func path(_ number: UInt64) -> RelativePath { RelativePath("f\(number)") ?? .root }

    /// Returns a machine that was given the contents 1 to `count`, each by one path. It registers the first.
    ///
    /// The protocol registers each upload alone: a batch of 50 would take the whole window.
    private static func bench(_ count: UInt64 = 20) -> Bench {
        var bench = Bench(.tus, files: 1, fragments: 1, window: window)
        for number in 1...count { join(path(number), number, &bench) }
        return bench
    }

    private static func join(_ path: RelativePath, _ number: UInt64, _ bench: inout Bench) {
        let known = bench.waiters[content(number).key] ?? []
        bench.waiters[content(number).key] =
            known + [RestoredWaiter(path: path, paused: false, joinedLater: !known.isEmpty)]
        bench.tell(.join(path, content(number), paused: false))
    }

    /// The contents in the order in which they were registered.
    private static func order(_ bench: Bench) -> [UInt64] { bench.batches(.register).flatMap(\.self) }

    @Test("has the first uploads, and the machine reads the others in order")
    func order() {
        var bench = Self.bench()
        #expect(bench.machine.hasBacklog)
        #expect(bench.machine.keys.count <= 1 + Self.window + 1)
        #expect(bench.ledger.uploads.count == 20)
        bench.run()
        #expect(Self.order(bench) == Array(1...20))
        #expect(bench.outcomes.count == 20)
        #expect(bench.ledger.uploads.isEmpty)
        #expect(!bench.machine.hasBacklog)
    }

    @Test("tells which paths enter it and leave it")
    func news() {
        var bench = Self.bench(5)
        var left: [RelativePath] = []
        var entered: [RelativePath] = []
        for number in UInt64(6)...12 {
            let key = content(number).key
            bench.waiters[key] = [RestoredWaiter(path: Self.path(number), paused: false, joinedLater: false)]
            for case .leftToLedger(_, let paths) in bench.tell(.join(Self.path(number), content(number), paused: false))
            {
                left += paths
            }
        }
        #expect(left == (6...11).map(Self.path))
        #expect(left.contains(Self.path(12)) == bench.machine.waiters(of: content(12).key).isEmpty)
        for case .broughtIn(_, let paths) in bench.answer(.register) { entered += paths }
        while !bench.underWay.isEmpty {
            for request in bench.underWay {
                for case .broughtIn(_, let paths) in bench.tell(Reply.success.events(for: request)) { entered += paths }
            }
        }
        #expect(Set(entered) == Set(left))
    }

    @Test("gets an upload that the user moves to the head of the queue")
    func first() {
        var bench = Self.bench()
        bench.tell(.first(content(20).key))
        bench.run()
        #expect(Self.order(bench).prefix(3) == [1, 20, 2])
        #expect(bench.outcomes.count == 20)
    }

    @Test("loses none of the uploads that others push out")
    func pushed() {
        var bench = Self.bench()
        for number in (UInt64(8)...20).reversed() { bench.tell(.first(content(number).key)) }
        bench.run()
        #expect(Self.order(bench) == [1] + Array(8...20) + Array(2...7))
    }

    @Test("needs not contain an upload that nobody wants any more")
    func leave() {
        var bench = Self.bench()
        bench.tell(.leave(Self.path(20), content(20).key))
        #expect(bench.ledger.uploads[content(20).key] == nil)
        // A path left while the ledger could not be read.
        bench.waiters[content(19).key] = []
        bench.run()
        #expect(Self.order(bench) == Array(1...18))
        #expect(bench.ledger.uploads.isEmpty)
    }

    @Test("gets an upload that a second path joins, which is then sent once")
    func join() {
        var bench = Self.bench()
        Self.join("copy", 20, &bench)
        bench.run()
        #expect(Self.order(bench) == Array(1...20))
        guard case .done(_, deduplicated: true) = bench.outcomes["copy"] else {
            Issue.record("\(String(describing: bench.outcomes["copy"]))")
            return
        }
    }

    @Test("keeps a paused upload, which is sent once it is resumed")
    func pause() {
        var bench = Self.bench()
        bench.waiters[content(20).key]?[0].paused = true
        bench.tell(.setPaused(Self.path(20), content(20).key, true))
        bench.run()
        #expect(bench.outcomes.count == 19)
        #expect(bench.state(content(20).key, Self.path(20)) == .paused)
        bench.tell(.setPaused(Self.path(20), content(20).key, false))
        bench.run()
        #expect(bench.outcomes.count == 20)
    }

    @Test("follows a renamed file")
    func rename() {
        var bench = Self.bench()
        bench.waiters[content(20).key] = [RestoredWaiter(path: "new", paused: false, joinedLater: false)]
        bench.tell(.rename(Self.path(20), to: "new", content(20).key))
        bench.run()
        #expect(bench.outcomes["new"] != nil)
        #expect(bench.outcomes[Self.path(20)] == nil)
    }

    @Test("is read again a second after the ledger failed")
    func failure() {
        var bench = Self.bench()
        bench.ledgerIsBroken = true
        while !bench.underWay.isEmpty {
            for request in bench.underWay { bench.tell(Reply.success.events(for: request)) }
        }
        #expect(bench.outcomes.count < 20)
        #expect(bench.machine.nextDeadline(after: bench.now.monotonic) == bench.now.monotonic + .seconds(1))
        bench.ledgerIsBroken = false
        bench.run(for: .seconds(5))
        #expect(bench.outcomes.count == 20)
    }

    @Test("gets no path while the ledger can't tell whether the upload is in it; the path is hashed again")
    func unreadable() {
        var bench = Self.bench()
        bench.ledgerIsBroken = true
        let stored = bench.ledger.uploads
        let actions = bench.tell(.join("copy", content(10), paused: false))
        #expect(actions.contains(.takeAgain("copy", content(10).key)))
        #expect(bench.ledger.uploads == stored)
        bench.ledgerIsBroken = false
        bench.run()
        #expect(bench.outcomes.count == 20)
    }

    @Test("is read at the first event after a restart, and the order goes on behind the last place")
    func restart() {
        var bench = Self.bench()
        bench.tell(.first(content(20).key))
        var later = Bench(.tus, files: 1, fragments: 1, window: Self.window)
        later.ledger = bench.ledger
        later.waiters = bench.waiters
        let queue = bench.ledger.queue
        later.machine.restoreBacklog(from: queue[0], to: queue[queue.count - 1])
        #expect(later.machine.keys.isEmpty)
        Self.join(Self.path(21), 21, &later)
        #expect(later.machine.keys.count <= 2 + Self.window)
        later.tell(.first(content(19).key))
        later.run()
        #expect(Self.order(later) == [20] + [19] + Array(1...18) + [21])
    }

    @Test("stays in place while everything is paused")
    func pauseAll() {
        var bench = Bench(.tus, files: 1, fragments: 1, window: Self.window)
        bench.tell(.setAllPaused(true))
        for number in UInt64(1)...20 { Self.join(Self.path(number), number, &bench) }
        #expect(bench.machine.keys.count <= Self.window + 1)
        #expect(bench.begun.isEmpty)
        bench.tell(.setAllPaused(false))
        bench.run()
        #expect(bench.outcomes.count == 20)
    }

    @Test("a file renamed onto another one of the same content still waits for an upload of the backlog")
    func renamedOntoItsLike() {
        var bench = Self.bench()
        let key = content(15).key
        bench.waiters[key] = [RestoredWaiter(path: "other", paused: false, joinedLater: false)]
        bench.tell(.leave("other", key), .rename(Self.path(15), to: "other", key))
        bench.run()
        #expect(bench.outcomes.count == 20 && bench.outcomes["other"] != nil)
    }
}
