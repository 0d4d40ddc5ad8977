import Foundation
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct LifeTests {
    @Test func `cancelling the task aborts the transfer and closes its connection`() async throws {
        let server = try ScriptedServer { _ in .hang }
        try await withTransport(server) { transport in
            let task = Task { await failure(of: .post(server.url, .bytes([1])), over: transport) }
            try await Poll.until("the request has come") { server.requests.count == 1 }
            task.cancel()
            #expect(await task.value?.kind == "cancelled")
            try await Poll.until("the connection is closed") { server.openConnections == 0 }
        }
    }

    @Test func `cancelling while the body is sent leaves no complete request`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server, .init(bandwidthLimit: 100_000)) { transport in
            let task = Task { await failure(of: .post(server.url, .stream(PatternBody(64 << 20))), over: transport) }
            try await Poll.until("the body has begun") { server.receivedBodyBytes > 0 }
            task.cancel()
            #expect(await task.value?.kind == "cancelled")
            try await Poll.until("the connection is closed") { server.openConnections == 0 }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a task that is cancelled already sends nothing`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await failure(of: .get(server.url), over: transport)
            }
            #expect(await task.value?.kind == "cancelled")
            #expect(server.startedRequests == 0)
        }
    }

    @Test func `a request cancelled while it waits for its turn leaves the others theirs`() async throws {
        let server = try ScriptedServer { request in request.target == "/hang" ? .hang : .json("{}") }
        try await withTransport(server, .init(maximumConnections: 1)) { transport in
            let first = Task { await failure(of: .get(server.url + "/hang"), over: transport) }
            try await Poll.until("the first has come") { server.requests.count == 1 }
            let second = Task { await failure(of: .get(server.url + "/second"), over: transport) }
            let third = Task { await failure(of: .get(server.url + "/third"), over: transport) }
            second.cancel()
            #expect(await second.value?.kind == "cancelled")
            first.cancel()
            #expect(await third.value == nil)
            #expect(server.requests.map(\.target) == ["/hang", "/third"])
        }
    }

    @Test func `shutting down fails what is pending and what comes after`() async throws {
        let server = try ScriptedServer { _ in .hang }
        try await withTransport(server, .init(maximumConnections: 1)) { transport in
            let pending = (0..<3).map { _ in Task { await failure(of: .get(server.url), over: transport) } }
            try await Poll.until("one has come") { server.requests.count == 1 }
            transport.shutdown()
            for task in pending { #expect(await task.value?.kind == "cancelled") }
            #expect(await failure(of: .get(server.url), over: transport)?.kind == "cancelled")
            try await Poll.until("the connections are closed") { server.openConnections == 0 }
            transport.shutdown()
        }
    }

    @Test func `a task on the executor stays on the transport's thread, before and after the reply`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            let url = server.url
            let threads = await Task(executorPreference: transport.executor) {
                let before = threadName()
                _ = await failure(of: .get(url), over: transport)
                return [before, threadName()]
            }.value
            #expect(threads == ["transport", "transport"])
        }
    }

    @Test func `tasks on the executor end, though the transport is shut down`() async throws {
        let server = try ScriptedServer { _ in .hang }
        try await withTransport(server) { transport in
            let url = server.url
            func kind() -> Task<String?, Never> {
                Task(executorPreference: transport.executor) {
                    let kind = await failure(of: .get(url), over: transport)?.kind
                    await Task.yield()
                    return kind
                }
            }
            let pending = kind()
            try await Poll.until("the request has come") { server.requests.count == 1 }
            transport.shutdown()
            #expect(await pending.value == "cancelled")
            #expect(await kind().value == "cancelled")
        }
    }

    @Test func `many tasks at once all get their reply`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server, .init(maximumConnections: 2)) { transport in
            let url = server.url
            let tasks = (0..<300).map { index in
                Task(executorPreference: index.isMultiple(of: 2) ? transport.executor : nil) {
                    await failure(of: .get(url), over: transport)
                }
            }
            for task in tasks { #expect(await task.value == nil) }
        }
    }

    @Test func `letting go of a transport closes its connections`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        do {
            let transport = try CurlTransport()
            _ = try await transport.send(.get(server.url))
            #expect(server.openConnections == 1)
        }
        try await Poll.until("the connection is closed") { server.openConnections == 0 }
        server.stop()
    }
}

/// Returns the name of the calling thread.
private func threadName() -> String? {
    FileManager.default.contents(atPath: "/proc/thread-self/comm").map {
        String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
}
