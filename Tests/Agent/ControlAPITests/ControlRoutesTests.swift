import AgentTestSupport
import Session
import Synchronization
import Testing
import UploadCore

@testable import ControlAPI
@testable import Reports

@Suite("Routes of the control interface")
struct ControlRoutesTests {
    private static let key = "9e107d9d372bb6826bd81d3542a419d6"

    private func bench(_ files: FileReport...) throws -> ControlBench {
        let bench = try ControlBench()
        bench.backend.set { $0.files = files }
        return bench
    }

    @Test("Files are listed by state")
    func list() async throws {
        let bench = try bench(.sample("a.jpg", .done), .sample("b.jpg", .queued), .sample("c.jpg", .failed))
        let (all, some) = try await bench.serving {
            (try await bench.client.files(), try await bench.client.files(in: [.done, .failed]))
        }
        #expect(all.map(\.path) == ["a.jpg", "b.jpg", "c.jpg"])
        #expect(some.map(\.path) == ["a.jpg", "c.jpg"])
    }

    @Test("Files are listed by directory, also with a name that is not UTF-8")
    func directory() async throws {
        let bench = try bench(.sample("a b/c&d/e.jpg", .done), .sample("a b/f.jpg", .done), .sample("a", .done))
        let odd = try #require(RelativePath([0xFF, 0x25]))
        bench.backend.set { state in
            var report = state.files[0]
            report.path = odd.appending("x".utf8)
            state.files.append(report)
        }
        let directory = try #require(RelativePath("a b/c&d"))
        let (some, oddOnes) = try await bench.serving {
            (try await bench.client.files(below: directory), try await bench.client.files(in: [.done], below: odd))
        }
        #expect(some.map(\.path) == ["a b/c&d/e.jpg"])
        #expect(oddOnes.map(\.relativePath) == [odd.appending("x".utf8)])
    }

    @Test("A limited list counts all files")
    func limit() async throws {
        let bench = try bench(.sample("a.jpg", .done), .sample("b.jpg", .queued), .sample("c.jpg", .queued))
        let list: EntryList<FileEntry> = try await bench.serving {
            try await bench.client.entries(ListQuery(atMost: 2))
        }
        #expect(list.entries.map(\.path) == ["a.jpg", "b.jpg"])
        #expect(list.counts == ["done": 1, "queued": 2])
        #expect(list.isCut)
        #expect(list.cutStates == ["queued"])
        #expect(list.finalCount == 1)
        #expect(!EntryList<FileEntry>(entries: list.entries).isCut)
        #expect(!EntryList<FileEntry>(entries: list.entries, counts: ["done": 5, "queued": 1]).isCut)
    }

    @Test("A malformed limit or directory is refused", arguments: ["limit=-1", "limit=x", "below=../x"])
    func malformed(query: String) async throws {
        let bench = try bench()
        await #expect(throws: ControlError.self) {
            try await bench.serving {
                try await bench.client.get("/v1/files?" + query, as: EntryList<FileEntry>.self)
            }
        }
    }

    @Test("A file is found by its path")
    func file() async throws {
        let bench = try bench(.sample("a.jpg", .done))
        let path = try #require(RelativePath("a.jpg"))
        let other = try #require(RelativePath("b.jpg"))
        let (found, missing) = try await bench.serving {
            (try await bench.client.file(at: path), try await bench.client.file(at: other))
        }
        #expect(found?.path == "a.jpg")
        #expect(missing == nil)
    }

    @Test("The paths of a content are found by its key")
    func upload() async throws {
        let bench = try bench(.sample("a.jpg", .done, key: Self.key), .sample("b.jpg", .done))
        let key = try #require(ContentKey(hexadecimal: Self.key))
        #expect(try await bench.serving { try await bench.client.files(of: key) }.map(\.path) == ["a.jpg"])
    }

    @Test("Each action reaches the backend for a file, for an upload and for all", arguments: UserAction.onFiles)
    func actions(action: UserAction) async throws {
        let file = try FileReport.sample("a.jpg", .queued, key: Self.key)
        let bench = try bench(file)
        let key = try #require(ContentKey(hexadecimal: Self.key))
        try await bench.serving {
            let byFile = try await bench.client.perform(action, onFile: file.id)
            #expect(byFile?.changed().map(\.path) == ["a.jpg"])
            let byKey = try await bench.client.perform(action, onUpload: key)
            #expect(byKey?.changed().count == 1)
            let below = try await bench.client.performOnAll(action, below: RelativePath("trip/a b"))
            #expect(below.outcomes.changed().count == 1 && below.changed == 1 && !below.continues)
            guard action != .first else { return }
            _ = try await bench.client.performOnAll(action)
            _ = try await bench.client.performOnAll(action, below: .root)
        }
        let targets: [ActionTarget] = [.file(id: file.id), .upload(key)]
        let all = [RelativePath("trip/a b")] + (action == .first ? [] : [nil, .root])
        bench.backend.state.withLock { state in
            #expect(state.performed.allSatisfy { $0.action == action })
            #expect(state.performed.compactMap(\.target) == targets)
            #expect(state.performed.filter { $0.target == nil }.map(\.directory) == all)
        }
    }

    @Test("An answer counts files that it does not list, and says that the agent continues")
    func counts() async throws {
        let bench = try bench()
        bench.backend.set { $0.uncounted = 5000 }
        let answer = try await bench.serving { try await bench.client.performOnAll(.cancel) }
        #expect(answer.outcomes.isEmpty && answer.changed == 5000 && answer.continues)
    }

    @Test("Files that an action left unchanged come with the reason")
    func unchanged() async throws {
        let file = try FileReport.sample("a.jpg", .done)
        let bench = try bench(file)
        let outcome = try await bench.serving { try await bench.client.perform(.pause, onFile: file.id) }
        #expect(outcome?.map(\.refusal) == ["it is \"over\" already"])
        #expect(outcome?.first?.subject.path == "a.jpg")
    }

    @Test("An action on an unknown file or upload returns nil")
    func unknown() async throws {
        let bench = try bench()
        let key = try #require(ContentKey(hexadecimal: Self.key))
        try await bench.serving {
            let byFile = try await bench.client.perform(.cancel, onFile: "0")
            let byKey = try await bench.client.perform(.cancel, onUpload: key)
            #expect(byFile == nil && byKey == nil)
        }
    }

    @Test("A clean-up reports the removed sidecars and entries")
    func prune() async throws {
        let bench = try bench()
        #expect(try await bench.serving { try await bench.client.prune() } == PruneReport(sidecars: 2, entries: 3))
    }

    @Test(
        "A wrong request gets a status, a code and a message",
        arguments: [
            ("GET", "/v1/nonsense", 404, "not_found"), ("GET", "/v1/files/0", 404, "no_such_file"),
            ("POST", "/v1/files/0/pause", 404, "no_such_file"), ("POST", "/v1/files/0/dance", 404, "no_such_action"),
            ("GET", "/v1/uploads/\(key)", 404, "no_such_upload"),
            ("POST", "/v1/uploads/\(key)/first", 404, "no_such_upload"),
            ("GET", "/v1/uploads/12", 400, "malformed_key"), ("GET", "/v1/files?state=nice", 400, "unknown_state"),
            ("DELETE", "/v1/files/0", 405, "method_not_allowed"), ("GET", "/v1/pause", 405, "method_not_allowed"),
            ("POST", "/v1/health", 405, "method_not_allowed"), ("POST", "/v1/session", 400, "malformed"),
            ("GET", "/v1/session", 405, "method_not_allowed"),
        ])
    func errors(method: String, target: String, status: Int, code: String) async throws {
        let bench = try bench()
        let reply = try await bench.serving { try await bench.ask(method, target) }
        #expect(reply.status == status)
        #expect(reply.body.contains("{\"error\":{\"code\":\"\(code)\",\"message\":\""), "\(reply.body)")
    }

    @Test("A body that is too large is refused")
    func largeBody() async throws {
        let bench = try bench()
        let body = "{\"token\":\"" + String(repeating: "x", count: 70_000) + "\"}"
        let reply = try await bench.serving { try await bench.ask("POST", "/v1/session", body: body) }
        #expect(reply.status == 413)
        #expect(reply.body.contains("too_large"))
    }

    @Test("A session is stored and discarded")
    func session() async throws {
        let bench = try bench()
        try await bench.serving {
            #expect(try await !bench.client.signIn(token: "secret", user: "anna \"a\""))
            #expect(try await bench.client.signIn(token: "secret", user: "another"))
            try await bench.client.signOut()
        }
        let expected = [
            try StoredSession(token: "secret", user: "anna \"a\""), try StoredSession(token: "secret", user: "another"),
            nil,
        ]
        #expect(bench.backend.state.withLock(\.sessions) == expected)
    }

    @Test("A malformed token is refused")
    func badToken() async throws {
        let bench = try bench()
        await #expect(throws: ControlError.self) {
            try await bench.serving { try await bench.client.signIn(token: "two words", user: nil) }
        }
        #expect(bench.backend.state.withLock(\.sessions).isEmpty)
    }

    @Test("A session with an invalid user name is refused", arguments: [" ", #"a\u0001"#, #"\u200B"#])
    func badUser(name: String) async throws {
        let bench = try bench()
        let body = "{\"token\":\"secret\",\"user\":\"\(name)\"}"
        let reply = try await bench.serving { try await bench.ask("POST", "/v1/session", body: body) }
        #expect(reply.status == 400)
        #expect(reply.body.contains("not_a_user"))
        #expect(bench.backend.state.withLock(\.sessions).isEmpty)
    }

    @Test("A token that would travel in the clear is not stored")
    func travellingToken() async throws {
        let bench = try bench()
        bench.backend.set { $0.sessionError = .mayNotTravel }
        let reply = try await bench.serving { try await bench.ask("POST", "/v1/session", body: "{\"token\":\"x\"}") }
        #expect(reply.status == 400)
        #expect(reply.body.contains("token_not_allowed"))
    }

    @Test("A failure to store a token is an error of the agent")
    func storeTrouble() async throws {
        let bench = try bench()
        bench.backend.set { $0.sessionError = .inputOutput(path: "/state", reason: "disk full") }
        let reply = try await bench.serving { try await bench.ask("POST", "/v1/session", body: "{\"token\":\"x\"}") }
        #expect(reply.status == 500)
        #expect(reply.body.contains("disk full"))
    }
}
