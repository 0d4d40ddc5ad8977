import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// The table of contract 4, one reply at a time on one request at a time.
@Suite("Contract 4: replies of the server", .agents)
struct FaultTableTests {
    typealias Endpoint = FaultServer.Endpoint
    typealias Fault = FaultServer.Fault

    static let requests: [Endpoint] = [.preLoad, .upload, .isFinish]

    static let temporaryFaults: [Fault] =
        [407, 408, 425, 429, 500, 502, 503, 504, 507, 511, 599].map { .status($0) }
        + [
            .bodyCode(500), .bodyCode(503), .garbage, .html, .tooLong, .redirect("http://127.0.0.1:9/"), .reset,
            .truncated,
        ]

    @Test("a temporary failure makes the file wait, and later it is done", arguments: temporaryFaults, requests)
    func temporary(fault: Fault, request: Endpoint) async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == request ? fault : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 1_200_000)

        let waiting = try await agent.reached("a.jpg", .waiting)
        #expect(waiting.error?.retryable == true)
        #expect(Sidecar.date(waiting.next_attempt_at) != nil)
        #expect(waiting.progress < 1)
        server.setFaults { _, _ in nil }

        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
    }

    @Test("a request without a reply is given up after reply_timeout and repeated", arguments: requests)
    func hang(request: Endpoint) async throws {
        let server = try FaultServer(faults: { endpoint, number in endpoint == request && number == 1 ? .hang : nil })
        let agent = try Agent(remote: server.url, ["upload.reply_timeout": "4s", "upload.stall_timeout": "4s"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 400_000)

        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
    }

    @Test(
        "404, 405 or 410 to preLoad means a wrong URL and is temporary",
        arguments: [
            Fault.status(404), .status(405), .status(410), .bodyCode(404),
        ])
    func wrongURL(fault: Fault) async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .preLoad ? fault : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .waiting)
        server.setFaults { _, _ in nil }
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
    }

    static let permanentFaults: [Fault] =
        [400, 402, 406, 409, 413, 415, 422, 451, 501, 505].map { .status($0) } + [.bodyCode(400), .bodyCode(501)]

    @Test(
        "a permanent failure fails the file with the server's words, and no retry", arguments: permanentFaults, requests
    )
    func permanent(fault: Fault, request: Endpoint) async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == request ? fault : nil })
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 1_200_000)

        let failed = try await agent.reached("a.jpg", .failed)

        #expect(failed.error?.retryable == false)
        #expect(failed.error?.message.contains("server says") == true, "\(String(describing: failed.error))")
        #expect(failed.next_attempt_at == nil)
        #expect(server.finished == [])
        #expect(server.count(request) == 1)
    }

    @Test(
        "404 or 410 for an issued id repeats preLoad for that content",
        arguments: [
            Fault.status(404), .status(410), .bodyCode(404),
        ], [Endpoint.upload, .isFinish])
    func forgotten(fault: Fault, request: Endpoint) async throws {
        let server = try FaultServer(faults: { endpoint, number in endpoint == request && number == 1 ? fault : nil })
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 1_200_000)

        try await agent.reached("a.jpg", .done)

        #expect(server.finished == [key])
        #expect(server.count(.preLoad) == 2)
        #expect(server.store.mixtures == [])
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

    @Test("after a bare 404 to several ids, the agent asks id by id")
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

    @Test("a redirect is never followed")
    func redirect() async throws {
        let other = try FaultServer()
        let place = other.url + "/fileSection/preLoad.do"
        let server = try FaultServer(faults: { _, number in number < 3 ? .redirect(place) : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(other.records.isEmpty)
    }

    @Test(
        "Retry-After is obeyed, in seconds or as a date", arguments: [false, true], [Endpoint.preLoad, .upload])
    func retryAfter(asDate: Bool, request: Endpoint) async throws {
        // The fault stays until the test has seen the agent's reaction.
        let server = try FaultServer(faults: { endpoint, _ in
            guard endpoint == request else { return nil }
            let format = Date.VerbatimFormatStyle(
                format:
                    "\(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .defaultDigits) \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits) GMT",
                locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt, calendar: Calendar(identifier: .gregorian))
            return .status(503, retryAfter: asDate ? Date(timeIntervalSinceNow: 5).formatted(format) : "4")
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
        let times = server.records.filter { $0.endpoint == request }.map(\.at)
        #expect(times[0].duration(to: times[1]) > .seconds(2.9))
        expectClean(server, finished: [key])
    }

    @Test("repeated failures make no hot loop", arguments: requests)
    func noHotLoop(request: Endpoint) async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == request ? .status(503) : nil })
        let agent = try Agent(remote: server.url, ["upload.retry_interval": "2m", "upload.fragments_in_flight": 1])
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 3_000_000)

        // Backoff starts at 1 s and doubles, with jitter: the fourth attempt comes seconds after the first.
        try await Poll.until("a fourth attempt", lastState: { agent.log }) { server.count(request) >= 4 }
        let times = server.records.filter { $0.endpoint == request }.map(\.at)
        #expect(times[0].duration(to: times[3]) > .seconds(1.5))
    }
}
