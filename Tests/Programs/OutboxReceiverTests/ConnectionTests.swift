import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import OutboxReceiver

/// Peers without a token can't shut out other peers.
@Suite struct ConnectionTests {
    private static let head = Data(
        "POST /user/portrait.do HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)

    private static func refused(by server: TestServer) throws -> HTTPConnection {
        let connection = try server.connection()
        try connection.send(head)
        let reply = try connection.reply()
        #expect(reply.status == 401)
        #expect(reply.headers["connection"] == "close")
        return connection
    }

    @Test func anEarlyRefusalClosesTheConnection() async throws {
        try await TestServer.run(configure: { $0.tokens = "secret anna" }) { server in
            let connection = try Self.refused(by: server)
            try connection.send(Data("1\r\nx\r\n".utf8))
            #expect(connection.hasEnded())
        }
    }

    /// The server accepts connections on one thread and handles them on another, so a stop can come in between.
    @Test func aServerCanBeCancelledBeforeItHasHandledAConnection() async throws {
        for _ in 0..<20 {
            var waiting: [HTTPConnection] = []
            try await TestServer.run { server in
                for _ in 0..<50 { waiting.append(try server.connection()) }
            }
        }
    }

    @Test func aConnectionThatNobodyHandlesIsClosed() async throws {
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).get()
        let http = HTTP1Channel(responder: { _, _, _ in })
        _ = try await channel.testingEventLoop.executeInContext {
            Connections(http: http, open: OpenConnections()).setup(channel: channel, logger: Logger(label: "test"))
        }.get()
        try await channel.closeFuture.get()
    }

    @Test func aRefusalAfterTheBodyKeepsTheConnection() async throws {
        try await TestServer.run(configure: { $0.tokens = "secret anna" }) { server in
            let connection = try server.connection()
            for _ in 0..<2 {
                try connection.send("POST", "/fileSection/isFinish.do", body: Data("{}".utf8))
                let reply = try connection.reply()
                #expect(reply.status == 401)
                #expect(reply.headers["connection"] == nil)
            }
        }
    }

    @Test func theRestOfARefusedBodyIsDiscardedWithinLimits() async throws {
        try await TestServer.run(configure: { $0.tokens = "secret anna" }) { server in
            let connection = try Self.refused(by: server)
            let chunk = Data("10000\r\n".utf8) + Data(count: 0x10000) + Data("\r\n".utf8)
            #expect(throws: HTTPConnection.Closed.self) {
                // More bytes than all buffers between client and server hold.
                for _ in 0..<4096 { try connection.send(chunk) }
            }
        }
    }

    @Test func peersWithoutATokenDoNotLockOutOthers() async throws {
        try await TestServer.run(configure: {
            $0.tokens = "secret anna"
            $0.maximumConnections = 8
        }) { server in
            var peers: [HTTPConnection] = []
            for _ in 0..<40 {
                peers.append(try Self.refused(by: server))
                for peer in peers { try? peer.send(Data("1\r\nx\r\n".utf8)) }
            }
            #expect(try server.get("/health").status == 200)
            #expect(try server.isFinish(["x"], token: "secret").status == 404)
        }
    }

    @Test func connectionsFitIntoTheLimitOnDescriptors() throws {
        var configuration = ReceiverConfiguration(root: "/")
        try configuration.limitConnections(forDescriptors: 16_384)
        #expect(configuration.maximumConnections == 1000)
        try configuration.limitConnections(forDescriptors: 300)
        #expect(configuration.maximumConnections == 118)
        #expect(throws: StartFailure.self) { try configuration.limitConnections(forDescriptors: 48) }
    }

    @Test func aRequestWithATokenOutlastsAFlood() async throws {
        try await TestServer.run(configure: {
            $0.tokens = "secret anna"
            $0.maximumConnectionsPerAddress = 4
        }) { server in
            let content = TestServer.content(100_000)
            let (id, _) = try server.preLoad(content, token: "secret")
            let body = TestServer.multipart(content)
            let upload = try server.connection()
            try upload.send(
                "POST", "/fileSection/upload.do",
                try server.uploadHeaders(
                    ["id": id, "totalSize": content.count, "blockTotal": 1, "blockNo": 1], "secret"),
                body: body.prefix(50_000), length: body.count)
            // Once the data file exists, the server has checked the token.
            let deadline = ContinuousClock.now + .seconds(60)
            while server.files("uploads").isEmpty, ContinuousClock.now < deadline { await Task.yield() }
            let peers = try (0..<40).map { _ in try server.connection() }
            #expect(try server.get("/health").status == 200)
            try upload.send(body.dropFirst(50_000))
            #expect(try upload.reply().status == 200)
            _ = peers
        }
    }
}

@Suite struct RequestCountsTests {
    @Test func aUserHasSoManyRequestsAtATime() throws {
        let counts = RequestCounts()
        for _ in 0..<RequestCounts.most { try counts.enter("mallory") }
        #expect(throws: Refusal.tooManyRequests) { try counts.enter("mallory") }
        try counts.enter("anna")
        counts.leave("mallory")
        try counts.enter("mallory")
    }
}

@Suite struct TurnsTests {
    @Test func theWorkOfAUserIsDoneInTurnAndOthersDoNotWaitForIt() async throws {
        let turns = Turns(most: 4)
        let tally = Tally()
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        await withTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    await turns.inTurn(of: "mallory") {
                        if tally.begin() == 4 { opening.finish() }
                        while !tally.isReleased { await Task.yield() }
                        tally.end()
                    }
                }
            }
            group.addTask {
                for await _ in gate {}
                await turns.inTurn(of: "anna") { tally.release() }
            }
        }
        #expect(tally.most == 4)
    }

    @Test func onlySoManyOfAUserWait() async {
        let turns = Turns(most: 1)
        let tally = Tally()
        let errors = await withTaskGroup(of: (any Error)?.self) { group in
            for _ in 0..<7 {
                group.addTask {
                    do {
                        try await turns.inTurn(of: "mallory", mostWaiting: 5) {
                            while !tally.isReleased { await Task.yield() }
                        }
                        return nil
                    } catch {
                        await turns.inTurn(of: "anna") { tally.release() }
                        return error
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.compactMap { $0 as? Refusal } == [.busy])
    }

    @Test func workThatNobodyWantsAnyLongerIsSkipped() async throws {
        let turns = Turns(most: 1)
        await #expect(throws: Refusal.busy) {
            try await turns.inTurn(of: "mallory", mostWaiting: 5, while: { false }) { Issue.record("did the work") }
        }
        try await turns.inTurn(of: "mallory", mostWaiting: 0) {}
    }

    /// How many are at work, and the highest number of them.
    private final class Tally: Sendable {
        private let counts = Mutex((now: 0, most: 0))
        private let hasReleased = Mutex(false)

        var most: Int { counts.withLock { $0.most } }

        func begin() -> Int {
            counts.withLock { counts in
                counts.now += 1
                counts.most = max(counts.most, counts.now)
                return counts.now
            }
        }

        func end() { counts.withLock { $0.now -= 1 } }

        var isReleased: Bool { hasReleased.withLock { $0 } }

        func release() { hasReleased.withLock { $0 = true } }
    }
}

@Suite struct SeatPlanTests {
    private final class Guest {}

    private static let here = VisitorAddress("192.0.2.1")
    private static let there = VisitorAddress("192.0.2.2")

    @Test func theOldestOfTheSameAddressGivesWay() {
        var plan = SeatPlan(total: 10, perAddress: 2)
        let guests = (0..<5).map { _ in Guest() }
        let ids = guests.map { ObjectIdentifier($0) }
        #expect(plan.seat(ids[0], from: Self.there) == nil)
        #expect(plan.seat(ids[1], from: Self.here) == nil)
        #expect(plan.seat(ids[2], from: Self.here) == nil)
        #expect(plan.seat(ids[3], from: Self.here) == ids[1])
        #expect(plan.seat(ids[4], from: Self.here) == ids[2])
    }

    @Test func thoseWhoShowedATokenStay() {
        var plan = SeatPlan(total: 10, perAddress: 2)
        let guests = (0..<5).map { _ in Guest() }
        let ids = guests.map { ObjectIdentifier($0) }
        _ = plan.seat(ids[0], from: Self.here)
        _ = plan.seat(ids[1], from: Self.here)
        plan.vouch(for: ids[0], as: .user("anna"))
        #expect(plan.seat(ids[2], from: Self.here) == ids[1])
        plan.vouch(for: ids[2], as: .user("ben"))
        #expect(plan.seat(ids[3], from: Self.here) == ids[3])
        plan.vouch(for: ids[0], as: nil)
        #expect(plan.seat(ids[4], from: Self.here) == ids[0])
    }

    @Test(arguments: [(SeatPlan.Visitor.guest, 1), (.user("mallory"), 4)])
    func neitherGuestsNorOneUserTakeAllSeats(visitor: SeatPlan.Visitor, share: Int) {
        for (total, perAddress) in [(7, 100), (100, 7)] {
            var plan = SeatPlan(total: total, perAddress: perAddress)
            let guests = (0..<16).map { _ in Guest() }
            let ids = guests.map { ObjectIdentifier($0) }
            for id in ids.prefix(7) {
                #expect(plan.seat(id, from: Self.here) == nil)
                plan.vouch(for: id, as: visitor)
            }
            // Others, who are vouched for, take the seats of those beyond the share.
            for (index, id) in ids.dropFirst(7).enumerated() {
                let isFree = index < 7 - share
                #expect(plan.seat(id, from: Self.here) == (isFree ? ids[share + index] : id))
                plan.vouch(for: id, as: .user("\(index)"))
            }
        }
    }

    /// The visitors with the most connections make room for others, one connection at a time.
    @Test(arguments: [[SeatPlan.Visitor.user("eve"), .user("mallory")], [.user("eve"), .user("mallory"), .guest]])
    func severalUsersTogetherDoNotTakeAllSeats(visitors: [SeatPlan.Visitor]) {
        for (total, perAddress) in [(16, 100), (100, 16)] {
            var plan = SeatPlan(total: total, perAddress: perAddress)
            let all = (0..<200).map { _ in Guest() }
            let ids = all.map { ObjectIdentifier($0) }
            for (index, id) in ids.prefix(160).enumerated() {
                _ = plan.seat(id, from: Self.here)
                plan.vouch(for: id, as: visitors[index % visitors.count])
            }
            for id in ids.dropFirst(160).prefix(3) {
                #expect(plan.seat(id, from: Self.here) != id)
                plan.vouch(for: id, as: .user("owner"))
            }
            // The owner's connections stay, however many arrive.
            for id in ids.dropFirst(163) {
                let leaving = plan.seat(id, from: Self.here)
                #expect(leaving.map { !ids[160..<163].contains($0) } ?? true)
                plan.vouch(for: id, as: visitors[0])
            }
        }
    }

    @Test func theTotalHoldsForAllAddresses() {
        var plan = SeatPlan(total: 3, perAddress: 2)
        let guests = (0..<5).map { _ in Guest() }
        let ids = guests.map { ObjectIdentifier($0) }
        for (index, id) in ids.prefix(3).enumerated() {
            #expect(plan.seat(id, from: VisitorAddress("192.0.2.\(index)")) == nil)
        }
        #expect(plan.seat(ids[3], from: VisitorAddress("192.0.2.9")) == ids[0])
        plan.free(ids[1])
        plan.free(ids[1])
        #expect(plan.seat(ids[4], from: VisitorAddress("192.0.2.8")) == nil)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("192.0.2.1", "::ffff:192.0.2.1", true),
        ("2001:db8::1", "2001:db8::2", true), ("2001:db8::1", "2001:db8:0:1::1", false),
        ("fe80::1%eth0", "fe80::2%eth1", true), ("::1", "127.0.0.1", false),
    ])
    func addressesOfOneHostAreOne(first: String, second: String, areOne: Bool) {
        #expect((VisitorAddress(first) == VisitorAddress(second)) == areOne)
    }
}
