import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// Contract 4, one agent for each reaction. The trial R11 and the unit tests of Remotes and of the upload machine hold the
/// whole table: every status on every request.
@Suite("Contract 4: replies of the server", .agents)
struct FaultTableTests {
    static let requests: [FaultServer.Endpoint] = [.preLoad, .upload, .isFinish]

    @Test("a request without a reply is given up after reply_timeout and repeated")
    func hang() async throws {
        // The first request of each kind hangs.
        let server = try FaultServer(faults: { _, number in number == 1 ? .hang : nil })
        let agent = try Agent(remote: server.url, ["upload.reply_timeout": "4s", "upload.stall_timeout": "4s"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 400_000)

        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
    }

    @Test("a permanent failure of any request fails the file with the server's words, and no retry")
    func permanent() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        for request in Self.requests {
            server.setFaults { endpoint, _ in endpoint == request ? .status(422) : nil }
            let before = server.count(request)
            try agent.drop("\(request).jpg", .jpeg, size: 1_200_000)

            let failed = try await agent.reached("\(request).jpg", .failed)

            #expect(failed.error?.retryable == false)
            #expect(failed.error?.message.contains("server says") == true, "\(String(describing: failed.error))")
            #expect(failed.next_attempt_at == nil)
            #expect(server.count(request) == before + 1, "\(request)")
        }
        #expect(server.finished == [])
    }

    @Test("an unknown id in isFinish restarts that upload only")
    func unknownFileIds() async throws {
        let server = try FaultServer(faults: FaultServer.keepsAssembling)
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let names: Set<String> = ["a.jpg", "b.jpg"]
        let keys = [try agent.drop("a.jpg", .jpeg, size: 600_000), try agent.drop("b.jpg", .jpeg, size: 600_000)]
        try await Poll.until("isFinish of both", lastState: { agent.log }) {
            names.isSubset(of: server.questions.joined())
        }
        // Only a restart reliably asks about both files at once.
        try await agent.kill()
        let asked = server.questions.count
        let lost = try #require(server.store.uploads.first { $0.value.md5 == keys[0] }?.key)
        server.change { $0.forget(lost) }
        server.letFinish()
        try await agent.start()

        for name in names { try await agent.reached(name, .done) }

        #expect(server.questions.dropFirst(asked).contains { Set($0) == names })
        #expect(server.finished.sorted() == keys.sorted())
        #expect(server.store.arrivals[keys[1]]?.values.allSatisfy { $0 == 1 } == true)
    }

    @Test("while the server assembles, and after a bare 404 to several ids, the agent asks again and sends nothing")
    func bareNotFound() async throws {
        let server = try FaultServer(faults: { endpoint, number in
            guard endpoint == .isFinish else { return nil }
            return number <= 3 ? .assembling : .notFoundForSeveral
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let keys = try (0..<4).map { try agent.drop("\($0).jpg", .jpeg, size: 600_000) }

        for index in 0..<4 { try await agent.reached("\(index).jpg", .done) }

        expectClean(server, finished: keys)
        #expect(server.store.repeated == 0)
    }

    @Test("fragments of a content that the server assembled with another MD5 are sent again")
    func sentAgain() async throws {
        let server = try FaultServer(faults: { endpoint, number in
            endpoint == .isFinish && number == 1 ? .otherDigest : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 1_200_000)

        try await agent.reached("a.jpg", .done)

        expectClean(server, finished: [key])
        #expect(server.store.arrivals[key] == [1: 2, 2: 2, 3: 2])
    }

    @Test("Retry-After as a date is obeyed")
    func retryAfter() async throws {
        // The fault stays until the test has seen the agent's reaction.
        let server = try FaultServer(faults: { endpoint, _ in
            guard endpoint == .upload else { return nil }
            let format = Date.VerbatimFormatStyle(
                format:
                    "\(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .defaultDigits) \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits) GMT",
                locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt, calendar: Calendar(identifier: .gregorian))
            return .status(503, retryAfter: Date(timeIntervalSinceNow: 5).formatted(format))
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let begin = Date()
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)

        let waiting = try await agent.reached("a.jpg", .waiting)
        let next = try #require(Sidecar.date(waiting.next_attempt_at))
        let updated = try #require(Sidecar.date(waiting.updated_at))
        #expect(next.timeIntervalSince(begin) > 3.9)
        #expect(next.timeIntervalSince(updated) < 10)
        server.letFinish()

        try await agent.reached("a.jpg", .done)
        let times = server.records.filter { $0.endpoint == .upload }.map(\.at)
        #expect(times[0].duration(to: times[1]) > .seconds(2.9))
        expectClean(server, finished: [key])
    }
}
