import Testing

@testable import FileWatch

@Suite final class MovePairingTests {
    private var pairing = MovePairing()

    private func departure(_ path: String) throws -> MovePairing.Departure {
        MovePairing.Departure(path: try relative(path), isDirectory: false)
    }

    private func arrive(_ cookie: UInt32) -> MovePairing.Departure? { pairing.arrive(cookie: cookie) }

    private func expired(at time: UInt64) -> [MovePairing.Departure] { pairing.expired(now: at(time)) }

    private func giveUp(on path: String) throws -> MovePairing.Departure? { pairing.giveUp(on: try relative(path)) }

    @Test func `halves with the same cookie belong together`() throws {
        pairing.depart(try departure("a"), cookie: 1, now: at(0))
        pairing.depart(try departure("b"), cookie: 2, now: at(0))
        #expect(arrive(2) == (try departure("b")))
        #expect(arrive(2) == nil)
        #expect(arrive(1) == (try departure("a")))
        #expect(pairing.deadline == nil)
    }

    @Test func `departures without arrival expire in order`() throws {
        pairing.depart(try departure("a"), cookie: 1, now: at(0))
        pairing.depart(try departure("b"), cookie: 2, now: at(10))
        #expect(pairing.deadline == at(50))
        #expect(expired(at: 49) == [])
        #expect(expired(at: 50) == [try departure("a")])
        #expect(expired(at: 60) == [try departure("b")])
    }

    @Test func `a departure follows the rename of its directory, or is gone with it`() throws {
        for (cookie, path) in ["a/f", "ab/f", "b/f", "b/d/g"].enumerated() {
            pairing.depart(try departure(path), cookie: UInt32(cookie), now: at(0))
        }
        pairing.move(from: try relative("a"), to: try relative("b"))
        #expect(arrive(0) == (try departure("b/f")))
        #expect(arrive(1) == (try departure("ab/f")))
        #expect(arrive(2) == nil && arrive(3) == nil)
        #expect(pairing.deadline == nil)
    }

    @Test func `a departure is given up under its new name`() throws {
        pairing.depart(try departure("a/f"), cookie: 1, now: at(0))
        pairing.move(from: try relative("a"), to: try relative("b"))
        #expect(try giveUp(on: "a/f") == nil)
        #expect(try giveUp(on: "b/f") == (try departure("b/f")))
    }

    @Test func `a name that is taken again ends the wait for its arrival`() throws {
        pairing.depart(try departure("a"), cookie: 1, now: at(0))
        #expect(try giveUp(on: "b") == nil)
        #expect(try giveUp(on: "a") == (try departure("a")))
        #expect(expired(at: 1000) == [])
    }
}
