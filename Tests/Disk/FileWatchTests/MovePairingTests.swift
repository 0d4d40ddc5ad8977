import Testing
import UploadCore

@testable import FileWatch

@Suite final class MovePairingTests {
    private var pairing = MovePairing()

    private func departure(_ path: String) throws -> MovePairing.Departure {
        MovePairing.Departure(path: try relative(path), isDirectory: false)
    }

    private func arrive(_ cookie: UInt32) -> MovePairing.Departure? { pairing.arrive(cookie: cookie) }

    private func expired(at time: UInt64) -> [MovePairing.Departure] { pairing.expired(now: at(time)) }

    private func move(from old: String, to new: String) throws -> [MovePairing.Departure] {
        pairing.move(from: try relative(old), to: try relative(new))
    }

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

    @Test func `a departure follows the rename of its directory, whose new name gives up its own departures`() throws {
        for (cookie, path) in ["b/f", "a/f", "ab/f", "b/d/g"].enumerated() {
            pairing.depart(try departure(path), cookie: UInt32(cookie), now: at(UInt64(cookie)))
        }
        let displaced = try move(from: "a", to: "b")
        #expect(Set(displaced.map(\.path.description)) == ["b/f", "b/d/g"])
        #expect(pairing.deadline == at(51))
        #expect(try giveUp(on: "a/f") == nil)
        #expect(try giveUp(on: "b/f") == (try departure("b/f")))
        #expect(arrive(2) == (try departure("ab/f")))
        #expect(pairing.deadline == nil)
    }

    @Test func `a departure from a renamed directory arrives from its new name`() throws {
        pairing.depart(try departure("a/d/f"), cookie: 1, now: at(0))
        #expect(try move(from: "a", to: "b") == [])
        #expect(try move(from: "b/d", to: "c") == [])
        #expect(arrive(1) == (try departure("c/f")))
    }

    @Test func `a name that is taken again ends the wait for its arrival`() throws {
        pairing.depart(try departure("a"), cookie: 1, now: at(0))
        #expect(try giveUp(on: "b") == nil)
        #expect(try giveUp(on: "a") == (try departure("a")))
        #expect(expired(at: 1000) == [])
    }
}
