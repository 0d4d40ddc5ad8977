import Glibc
import TestSupport
import Testing

@testable import Agent

@Suite("The claim on an outbox")
struct OutboxClaimTests {
    @Test("has one holder, names the holder's process to a second agent, and is free afterwards")
    func claims() throws {
        let outbox = try TemporaryDirectory(prefix: "claim")
        let other = try TemporaryDirectory(prefix: "claim")
        var first: OutboxClaim? = try OutboxClaim(outbox: outbox.path)
        let second = try OutboxClaim(outbox: outbox.path)
        #expect(try first?.take() == .held)
        #expect(try first?.take() == .held)
        #expect(try second.take() == .taken(by: getpid()))
        #expect(try OutboxClaim(outbox: other.path).take() == .held)
        first = nil
        #expect(try second.take() == .held)
    }
}
