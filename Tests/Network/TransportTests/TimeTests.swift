import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct TimeTests {
    @Test(arguments: [0, 100_000])
    func `a server that stops reading is a stall`(limit: Int) async throws {
        let server = try ScriptedServer(onHead: { _ in .stallAfter(limit) }, handler: { _ in .json("{}") })
        try await withTransport(server) { transport in
            let request = TransportRequest.post(server.url, .stream(PatternBody(64 << 20))).with(
                stall: .milliseconds(300))
            #expect(await failure(of: request, over: transport)?.kind == "stalled")
        }
    }

    @Test func `a server whose kernel takes no more is a stall, whatever ours has taken`() async throws {
        let listener = try SilentListener(backlog: 8, receiveBuffer: 4096)
        let transport = try CurlTransport()
        let request = TransportRequest.post(listener.url, .stream(PatternBody(400_000)))
        #expect(await failure(of: request.with(stall: .milliseconds(300)), over: transport)?.kind == "stalled")
        transport.shutdown()
    }

    @Test func `a server that does not answer overruns the reply timeout`() async throws {
        let server = try ScriptedServer { _ in .hang }
        try await withTransport(server) { transport in
            let request = TransportRequest.post(server.url, .bytes([1])).with(
                stall: .seconds(60), reply: .milliseconds(200))
            #expect(await failure(of: request, over: transport)?.kind == "replyTimeout")
        }
    }

    @Test func `a reply that never ends overruns the reply timeout`() async throws {
        let listener = try SilentListener(backlog: 8)
        let transport = try CurlTransport()
        let request = TransportRequest.get(listener.url).with(reply: .milliseconds(200))
        async let error = failure(of: request, over: transport)
        try await listener.acceptAndSend("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        #expect(await error?.kind == "replyTimeout")
        transport.shutdown()
    }

    @Test func `a host that lets nobody in overruns the connect timeout`() async throws {
        let listener = try SilentListener(backlog: 0)
        try listener.fillBacklog()
        let transport = try CurlTransport(configuration: .init(connectTimeout: .milliseconds(200)))
        #expect(await failure(of: .get(listener.url), over: transport)?.kind == "connect")
        transport.shutdown()
    }

    @Test func `pauses for the bandwidth limit are no stall`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        // At this rate, the limiter grants the smallest share only once a second.
        try await withTransport(server, .init(bandwidthLimit: 512)) { transport in
            let request = TransportRequest.post(server.url, .stream(PatternBody(2048))).with(stall: .milliseconds(600))
            let reply = try await transport.send(request)
            #expect(reply.status == 200)
        }
    }

    @Test func `the bandwidth limit holds for all transfers together`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server, .init(bandwidthLimit: 200_000)) { transport in
            let elapsed = try await ContinuousClock().measure {
                try await withThrowingTaskGroup { group in
                    for _ in 0..<4 {
                        group.addTask { _ = try await transport.send(.post(server.url, .stream(PatternBody(60_000)))) }
                    }
                    try await group.waitForAll()
                }
            }
            // 240,000 bytes take at least 1.2 s minus the initial burst of 0.1 s, however fast the machine.
            #expect(elapsed >= .seconds(1))
            #expect(server.receivedBodyBytes == 240_000)
        }
    }

    @Test func `lifting the bandwidth limit sets waiting transfers free`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server, .init(bandwidthLimit: 1)) { transport in
            async let reply = transport.send(.post(server.url, .stream(PatternBody(1 << 20))))
            try await Poll.until("the request is under way") { server.startedRequests == 1 }
            transport.setBandwidthLimit(0)
            let status = try await reply.status
            #expect(status == 200)
        }
    }

    @Test func `a bandwidth limit set later holds back transfers that run`() async throws {
        let server = try ScriptedServer(onHead: { _ in .read }, handler: { _ in .json("{}") })
        try await withTransport(server) { transport in
            transport.setBandwidthLimit(1)
            let task = Task { await failure(of: .post(server.url, .stream(PatternBody(1 << 20))), over: transport) }
            try await Poll.until("the request is under way") { server.startedRequests == 1 }
            task.cancel()
            #expect(await task.value?.kind == "cancelled")
            #expect(server.receivedBodyBytes < 1000)
        }
    }
}
