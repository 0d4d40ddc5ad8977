import LinuxSystem
import Glibc
import TestSupport
import Testing

@testable import AgentConfiguration
@testable import Doctor

struct ProbeTests {
    private func present(_ facts: DirectoryFacts) throws -> DirectoryFacts.Present {
        guard case .present(let present) = facts.state else { throw Unexpected(state: "\(facts.state)") }
        return present
    }

    private struct Unexpected: Error { let state: String }

    @Test func `a directory is seen with its mode, owner and file system`() throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o750)
        let seen = try present(DirectoryFacts(probing: directory.path))
        #expect(seen.permissions == 0o750)
        #expect(seen.owner == geteuid())
        #expect(seen.isReadable && seen.isWritable)
        #expect(seen.fileSystem.available > 0)
        #expect(!seen.fileSystem.name.isEmpty)
    }

    @Test func `what is missing is told from what is in the way`() throws {
        let directory = try TemporaryDirectory()
        try Scratch.write("x", to: directory.path("file"))
        let disk = try FileSystem(at: directory.path)
        guard case .missing(nil, let parent?) = DirectoryFacts(probing: directory.path("a/b")).state else {
            Issue.record("a directory that can be made")
            return
        }
        #expect(parent.name == disk.name && parent.kind == disk.kind)
        #expect(DirectoryFacts(probing: directory.path("file")).state == .notADirectory)
        #expect(
            DirectoryFacts(probing: directory.path("file/a")).state == .unreachable("Not a directory"))
    }

    @Test(arguments: [("secret\n", TokenFacts.File.Content.token), ("", .noToken), ("two words\n", .noToken)])
    func `a token file is read the way the agent reads it`(text: String, content: TokenFacts.File.Content) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("token")
        try Scratch.write(text, to: path)
        chmod(path, 0o644)
        var configuration = Configuration(home: directory.path)
        configuration.remote.tokenFile = path
        let facts = TokenFacts(probing: configuration, environment: [:])
        #expect(facts.tokenFile == .init(path: path, content: content, permissions: 0o644))
        #expect(facts.stored.content == .missing)
    }

    @Test func `directories below the outbox are counted, hidden and nested ones too, symbolic links not`() throws {
        let directory = try TemporaryDirectory()
        for name in ["a/b/c", "d", ".hidden"] { try Scratch.make(directory.path(name)) }
        try Scratch.write("x", to: directory.path("a/file"))
        try Scratch.link("/", at: directory.path("link"))
        let facts = WatchFacts(probing: directory.path, agent: nil, limit: .seconds(60))
        #expect(facts.directories == 6)
        #expect(facts.isCountComplete)
    }

    @Test func `watches of this user's processes are seen, but not those of the agent`() throws {
        let directory = try TemporaryDirectory()
        // Open several queues: other processes of this user start and end between the two counts.
        let queues = (0..<8).map { _ in inotify_init1(Int32(IN_CLOEXEC)) }
        defer { for queue in queues { close(queue) } }
        for queue in queues {
            try #require(queue >= 0)
            try #require(inotify_add_watch(queue, directory.path, UInt32(IN_CREATE)) >= 0)
        }
        let seen = WatchFacts(probing: directory.path, agent: nil, limit: .seconds(60))
        #expect(seen.instancesElsewhere >= 8)
        #expect(seen.watchesElsewhere >= 8)
        let others = WatchFacts(probing: directory.path, agent: getpid(), limit: .seconds(60))
        #expect(others.instancesElsewhere <= seen.instancesElsewhere - 4)
    }

    @Test func `this kernel has what the tests need too`() {
        let facts = KernelFacts(probing: ())
        #expect(facts.openat2 == nil)
        #expect(facts.hasProc)
        #expect(facts.release?.isEmpty == false)
    }

    @Test func `trying a lease leaves nothing behind`() throws {
        let directory = try TemporaryDirectory()
        _ = LeaseFacts(probing: directory.path)
        #expect(ProcFile.names(in: directory.path).isEmpty)
    }

    @Test func `work that hangs is given up`() async {
        let hanging = Gate()
        let value = await TimeLimit.run("hang", .milliseconds(50)) { hanging.wait() }
        hanging.open()
        #expect(value == nil)
        #expect(await TimeLimit.run("quick", .seconds(60)) { 7 } == 7)
    }
}

/// Blocks a thread until the gate opens.
private final class Gate: Sendable {
    private let pipe: (read: Int32, write: Int32)

    init() {
        var ends: [Int32] = [0, 0]
        _ = Glibc.pipe(&ends)
        pipe = (ends[0], ends[1])
    }

    func wait() -> Int {
        var byte: UInt8 = 0
        return read(pipe.read, &byte, 1)
    }

    func open() { close(pipe.write) }
}
