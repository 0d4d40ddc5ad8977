import Foundation
import Synchronization
import TestSupport
import Testing
import Transport

/// Requests during which the network changes.
@Suite(.timeLimit(.minutes(2)))
struct NetworkChangeTests {
    @Test func `a transfer from an address that is gone ends at once`() async throws {
        let server = try ScriptedServer(onHead: { _ in .stallAfter(1000) }, handler: { _ in .json("{}") })
        try await withTransport(server) { transport in
            async let error = failure(of: .post(server.url, .stream(PatternBody(64 << 20))), over: transport)
            try await Poll.until("the body is on its way") { server.receivedBodyBytes > 0 }
            transport.networkChanged(goneAddresses: ["127.0.0.1"])
            let seen = await error
            #expect(seen?.kind == "reset")
            #expect(seen?.description.contains("127.0.0.1 is gone") == true)
        }
    }

    @Test func `a transfer that waits for its reply ends as well`() async throws {
        let server = try ScriptedServer { _ in .hang }
        try await withTransport(server) { transport in
            async let error = failure(of: .post(server.url, .bytes([1])), over: transport)
            try await Poll.until("the request has come") { server.requests.count == 1 }
            transport.networkChanged(goneAddresses: ["127.0.0.1"])
            #expect(await error?.kind == "reset")
        }
    }

    @Test func `a reply that is waited for since the link was down is given up when it is back`() async throws {
        let server = try ScriptedServer { _ in .hang }
        try await withTransport(server) { transport in
            async let error = failure(of: .post(server.url, .bytes([1])), over: transport)
            try await Poll.until("the request has come") { server.requests.count == 1 }
            let ended = Mutex(false)
            let news = Task {
                while !ended.withLock({ $0 }) {
                    transport.networkChanged(returnedAddresses: ["127.0.0.1"])
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
            let seen = await error
            ended.withLock { $0 = true }
            try await news.value
            #expect(seen?.kind == "reset")
            #expect(seen?.description.contains("the link of 127.0.0.1 was down") == true)
        }
    }

    @Test func `a transfer on a connection used before is known by its address too`() async throws {
        let server = try ScriptedServer { $0.index == 0 ? .json("{}") : .hang }
        try await withTransport(server) { transport in
            _ = try await transport.send(.get(server.url))
            async let error = failure(of: .get(server.url), over: transport)
            try await Poll.until("the request has come") { server.requests.count == 2 }
            #expect(server.acceptedConnections == 1)
            transport.networkChanged(goneAddresses: ["127.0.0.1"])
            #expect(await error?.kind == "reset")
        }
    }

    @Test func `a transfer from an address that stays goes on`() async throws {
        let release = Mutex(false)
        let server = try ScriptedServer { _ in
            while !release.withLock({ $0 }) { usleep(1000) }
            return .json("{}")
        }
        try await withTransport(server) { transport in
            async let reply = transport.send(.get(server.url))
            try await Poll.until("the request has come") { server.startedRequests == 1 }
            transport.networkChanged(goneAddresses: ["192.0.2.1", "2001:db8::1"])
            release.withLock { $0 = true }
            let status = try await reply.status
            #expect(status == 200)
        }
    }

    @Test func `idle connections are not used again`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            for _ in 0..<2 { _ = try await transport.send(.get(server.url)) }
            #expect(server.acceptedConnections == 1)
            transport.networkChanged()
            _ = try await transport.send(.get(server.url))
            #expect(server.acceptedConnections == 2)
        }
    }

    @Test func `one that is still connecting is not given up`() async throws {
        let listener = try SilentListener(backlog: 0)
        try listener.fillBacklog()
        let transport = try CurlTransport(configuration: .init(connectTimeout: .milliseconds(500)))
        async let error = failure(of: .get(listener.url), over: transport)
        var changes = 0
        try await Poll.until("some changes while it connects") {
            transport.networkChanged(goneAddresses: ["127.0.0.1"])
            changes += 1
            return changes == 30
        }
        // The request fails only because of its own connect timeout.
        #expect(await error?.kind == "connect")
        transport.shutdown()
    }

    @Test func `a slow link that takes everything at once is no reason to give up`() async throws {
        // The kernels of both ends buffer the whole body; the server reads the bytes at 40 KB/s.
        let server = try TrickleServer(bytesPerPause: 4096, pause: .milliseconds(100))
        let transport = try CurlTransport()
        // Reading 400 kB takes longer than either timeout. Both allow for pauses of the server on a busy machine.
        let request = TransportRequest.post(server.url, .stream(PatternBody(400_000)))
            .with(stall: .seconds(7), reply: .seconds(7))
        let reply = try await transport.send(request)
        #expect(reply.status == 200)
        transport.shutdown()
    }

    @Test func `5 KB/s by the bandwidth limit is no stall`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server, .init(bandwidthLimit: 5000)) { transport in
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    let request = TransportRequest.post(server.url, .stream(PatternBody(3000))).with(stall: .seconds(1))
                    group.addTask { _ = try await transport.send(request) }
                }
                try await group.waitForAll()
            }
            #expect(server.receivedBodyBytes == 12_000)
        }
    }
}
