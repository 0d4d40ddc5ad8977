import AgentTestSupport
import Reports
import Synchronization
import Testing
import UploadCore

@testable import ControlAPI

@Suite("Routes of sources")
struct SourceRoutesTests {
    private static let id = String(repeating: "a", count: 32)

    private func bench(_ sources: SourceReport...) throws -> ControlBench {
        let bench = try ControlBench()
        bench.sources.state.withLock { $0.sources = sources }
        return bench
    }

    @Test("Sources are listed, also by state")
    func list() async throws {
        let bench = try bench(
            .sample("sea", .draft), .sample("trip", .file(.uploading), digit: "b"),
            .sample("wood", .file(.done), digit: "c"))
        let (all, some, none) = try await bench.serving {
            (
                try await bench.client.sources(), try await bench.client.sources(in: [.draft, .file(.done)]),
                try await bench.client.sources(in: [])
            )
        }
        #expect(all.map(\.path) == ["sea", "trip", "wood"])
        #expect(some.map(\.path) == ["sea", "wood"])
        #expect(none.isEmpty)
    }

    @Test("A list without sources is an empty list")
    func empty() async throws {
        let bench = try bench()
        #expect(try await bench.serving { try await bench.client.sources() }.isEmpty)
    }

    private func entry(_ id: String, _ bench: ControlBench) async throws -> SourceEntry? {
        try await bench.client.entry(id: id)
    }

    @Test("A source is found by its id")
    func source() async throws {
        let bench = try bench(.sample("sea", .draft))
        let (found, missing) = try await bench.serving {
            (try await entry(Self.id, bench), try await entry("0", bench))
        }
        #expect(found?.path == "sea")
        #expect(missing == nil)
    }

    @Test("Each action reaches the backend and returns the source", arguments: UserAction.allCases)
    func wishes(wish: UserAction) async throws {
        let bench = try bench(.sample("sea", .draft))
        let outcome = try await bench.serving { try await bench.client.perform(wish, onSource: Self.id) }
        #expect(bench.sources.state.withLock(\.wishes) == [wish])
        #expect(outcome?.subject.state == (wish == .pause ? "paused" : "queued"))
        #expect(outcome?.refusal == nil)
    }

    @Test("A refusal is returned with the unchanged source")
    func refusal() async throws {
        let bench = try bench(.sample("sea", .file(.done)))
        let reply = try await bench.serving { try await bench.ask("POST", "/v1/sources/\(Self.id)/submit") }
        #expect(reply.status == 200)
        #expect(reply.body.hasPrefix("{\"source\":{\"version\":1,\"id\":\"\(Self.id)\",\"path\":\"sea\","))
        #expect(reply.body.hasSuffix("},\"refusal\":\"it is \\\"over\\\" already\"}\n"))
    }

    @Test(
        "A wrong request gets the reason",
        arguments: [
            ("GET", "/v1/sources/0", 404, "no_such_source"), ("POST", "/v1/sources/0/submit", 404, "no_such_source"),
            ("POST", "/v1/sources/0/frobnicate", 404, "no_such_action"),
            ("GET", "/v1/sources?state=drafty", 400, "unknown_state"),
            ("DELETE", "/v1/sources/0", 405, "method_not_allowed"),
            ("GET", "/v1/sources/0/submit", 405, "method_not_allowed"),
        ])
    func errors(method: String, target: String, status: Int, code: String) async throws {
        let bench = try bench()
        let reply = try await bench.serving { try await bench.ask(method, target) }
        #expect(reply.status == status)
        #expect(reply.body.hasPrefix("{\"error\":{\"code\":\"\(code)\""), "\(reply.body)")
    }
}
