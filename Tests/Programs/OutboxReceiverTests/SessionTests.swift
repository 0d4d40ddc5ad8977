import Foundation
import Logging
import Testing

@testable import OutboxReceiver

@Suite struct SessionTests {
    private static func holder(_ user: String) throws -> Tokens.Holder {
        let tokens = try Tokens(text: "\(user)-token \(user)", path: nil, logger: Logger(label: "test"))
        return try #require(tokens.holder(of: "\(user)-token", now: 0))
    }

    @Test func aSessionEndsAfterItsLifetime() throws {
        let sessions = Sessions()
        let holder = try Self.holder("anna")
        let secret = sessions.begin(for: holder, at: 1000)
        #expect(Hex128(secret) != nil)
        #expect(sessions.holder(secret, at: 1000 + Sessions.lifetime - 1) == holder)
        #expect(sessions.holder(secret, at: 1000 + Sessions.lifetime) == nil)
        #expect(sessions.holder("x", at: 1000) == nil)
    }

    @Test func theOldestSessionOfAUserMakesRoom() throws {
        let sessions = Sessions()
        let ben = sessions.begin(for: try Self.holder("ben"), at: 0)
        let secrets = try (0...Sessions.mostOfUser).map { _ in sessions.begin(for: try Self.holder("anna"), at: 1) }
        #expect(sessions.holder(secrets[0], at: 1) == nil)
        #expect(secrets.dropFirst().allSatisfy { sessions.holder($0, at: 1) != nil })
        #expect(sessions.holder(ben, at: 1)?.user == "ben")
        #expect(sessions.count == Sessions.mostOfUser + 1)
    }

    @Test func sessionsThatAreOverTakeNoMemory() throws {
        let sessions = Sessions()
        for time in 0..<5 { _ = sessions.begin(for: try Self.holder("anna"), at: Int64(time) * Sessions.lifetime) }
        #expect(sessions.count == 1)
    }

    @Test func aSessionEndsWithItsToken() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "tokens-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("a anna\nb anna\n".utf8).write(to: URL(filePath: path))
        let tokens = try Tokens(text: nil, path: path, logger: Logger(label: "test"))
        let holder = try #require(tokens.holder(of: "a", now: 1))
        #expect(tokens.isValid(holder, now: 1))
        try Data("b anna\na benjamin\n".utf8).write(to: URL(filePath: path))
        #expect(!tokens.isValid(holder, now: 2), "the token belongs to somebody else now")
        try Data("b anna\n".utf8).write(to: URL(filePath: path))
        #expect(!tokens.isValid(holder, now: 3))
    }

    @Test func anAddressMayGuessSoOftenOnly() {
        var guesses = Guesses()
        let (one, other) = (VisitorAddress("192.0.2.1"), VisitorAddress("192.0.2.2"))
        for _ in 0..<Guesses.most {
            #expect(guesses.wait(of: one, at: 100) == nil)
            guesses.fail(one, at: 100)
        }
        #expect(guesses.wait(of: one, at: 110) == Guesses.window - 10)
        #expect(guesses.wait(of: other, at: 110) == nil)
        #expect(guesses.wait(of: one, at: 100 + Guesses.window) == nil)
    }
}

@Suite struct TimelineTests {
    private static let tokens = (0..<10).map { Hex128(high: 0, low: UInt64($0)) }

    @Test func pagesFollowEachOtherWithoutGapsWhileItemsArrive() {
        var timeline = Timeline<Int>()
        for (time, token) in Self.tokens.prefix(7).enumerated() { timeline.add(token, at: time) }
        let first = timeline.page(before: nil, count: 3)
        #expect(first == Timeline.Page(tokens: [6, 5, 4].map { Self.tokens[$0] }, older: 4))
        for (time, token) in Self.tokens.enumerated().dropFirst(7) { timeline.add(token, at: time) }
        let second = timeline.page(before: first.older, count: 3)
        #expect(second == Timeline.Page(tokens: [3, 2, 1].map { Self.tokens[$0] }, older: 1))
        #expect(timeline.page(before: 1, count: 3) == Timeline.Page(tokens: [Self.tokens[0]], older: nil))
    }

    @Test(arguments: [-5, 0])
    func nothingIsBeforeTheFirst(position: Int) {
        var timeline = Timeline<Int>()
        timeline.add(Self.tokens[0], at: 1)
        #expect(timeline.page(before: position, count: 3) == Timeline.Page(tokens: [], older: nil))
        #expect(timeline.page(before: .max, count: 3).tokens == [Self.tokens[0]])
    }

    @Test func itemsAreInTheOrderOfTheirKeysHoweverTheyCome() {
        var timeline = Timeline<String>()
        for (index, key) in ["b", "c", "a", ""].enumerated() { timeline.add(Self.tokens[index], at: key) }
        timeline.remove(Self.tokens[1])
        #expect(timeline.page(before: nil, count: 9).tokens == [0, 2, 3].map { Self.tokens[$0] })
        #expect(timeline.count == 3)
    }
}
