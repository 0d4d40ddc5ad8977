import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import AgentConfiguration
@testable import Session

@Suite("The stored session")
struct SessionTests {
    private let directory: TemporaryDirectory
    private let state: String
    private let store: SessionStore

    init() throws {
        directory = try TemporaryDirectory(prefix: "session")
        state = directory.path("deep/state")
        store = SessionStore(stateDirectory: state)
    }

    @Test("A saved session is loaded")
    func roundTrip() throws {
        let session = try StoredSession(token: "a.b-c_d~e+f/g=", user: "Zoë")
        try store.save(session)
        #expect(store.load() == session)
    }

    @Test("Token and user are readable by their owner only, in a private directory")
    func modes() throws {
        try store.save(StoredSession(token: "secret", user: "anna"))
        #expect(try FileStatus(path: state).permissions == 0o700)
        for name in ["token", "user"] { #expect(try FileStatus(path: "\(state)/\(name)").permissions == 0o600) }
    }

    @Test("A new session replaces the old one, its user included")
    func replace() throws {
        try store.save(StoredSession(token: "old", user: "anna"))
        try store.save(StoredSession(token: "new", user: nil))
        #expect(store.load() == (try StoredSession(token: "new", user: nil)))
        #expect(access("\(state)/user", F_OK) != 0)
    }

    @Test("A symbolic link in the token's place is replaced, not followed")
    func link() throws {
        let victim = directory.path("victim")
        close(open(victim, O_WRONLY | O_CREAT, 0o644))
        try store.save(StoredSession(token: "old", user: nil))
        unlink("\(state)/token")
        symlink(victim, "\(state)/token")
        #expect(store.load() == nil)

        try store.save(StoredSession(token: "new", user: nil))

        #expect(try FileStatus(path: victim).size == 0)
        #expect(store.load()?.token == "new")
    }

    @Test("No temporary file remains, and a leftover of a kill is no obstacle")
    func temporary() throws {
        try store.save(StoredSession(token: "old", user: nil))
        close(open("\(state)/.token.new", O_WRONLY | O_CREAT, 0o600))
        try store.save(StoredSession(token: "new", user: "anna"))
        let names = try Directory(path: state).entries().map { String(decoding: $0.name, as: UTF8.self) }
        #expect(names.sorted() == ["token", "turns", "user"])
    }

    @Test("Discarding a session twice is no error, and nothing may be sent afterwards")
    func remove() throws {
        #expect(!store.isSignedOut)
        #expect(try store.remove() == false)
        #expect(store.isSignedOut)
        try store.save(StoredSession(token: "secret", user: "anna"))
        #expect(try store.remove() == true)
        #expect(try store.remove() == false)
        #expect(store.load() == nil)
        #expect(store.isSignedOut)
        #expect(access("\(state)/user", F_OK) != 0)
    }

    @Test("The agent's credentials find the stored token")
    func credentials() throws {
        try store.save(StoredSession(token: "secret", user: nil))
        let credentials = Credentials(environmentToken: nil, tokenFile: nil, stateDirectory: state)
        #expect(credentials.bearerToken() == "secret")
    }

    @Test("The origin of a token follows the precedence")
    func origin() throws {
        var configuration = Configuration(home: directory.path)
        configuration.state = state
        #expect(TokenOrigin(environment: [:], configuration: configuration) == nil)
        try store.save(StoredSession(token: "stored", user: nil))
        #expect(TokenOrigin(environment: [:], configuration: configuration) == .login)
        let file = directory.path("file")
        let descriptor = open(file, O_WRONLY | O_CREAT, 0o600)
        write(descriptor, "x\n", 2)
        close(descriptor)
        configuration.remote.tokenFile = file
        #expect(TokenOrigin(environment: [:], configuration: configuration) == .tokenFile)
        #expect(TokenOrigin(environment: ["OUTBOX_TOKEN": "y"], configuration: configuration) == .environment)
    }

    @Test("White space around a token does not count", arguments: ["abc", " abc\n", "\r\n\tabc \r\n\r\n"])
    func trimmed(text: String) throws {
        #expect(try BearerToken.parse(text) == "abc")
    }

    @Test(
        "A malformed token is refused, and the message does not repeat it",
        arguments: ["", " \n", "hidden1\nhidden2", "Bearer hidden1", "hidden1\u{E9}", "hidden1\u{7}"])
    func refused(text: String) {
        let error = #expect(throws: SessionError.self) { try BearerToken.parse(text) }
        #expect(error.map { !"\($0)".contains("hidden") } == true)
    }

    @Test("A token may be 16 KiB long and no longer")
    func longest() throws {
        #expect(try BearerToken.parse(String(repeating: "x", count: 16_384)).count == 16_384)
        #expect(throws: SessionError.self) { try BearerToken.parse(String(repeating: "x", count: 16_385)) }
    }

    @Test(
        "A user name is one line of text with a visible character",
        arguments: [
            "", " ", "\t", "\u{A0}\u{2003}", "\u{200B}\u{2060}", "a\u{85}b", "a\u{2028}b", "a\u{0}b",
            "a\nb", "a\u{1B}[2J", String(repeating: "x", count: 256),
        ])
    func user(name: String) {
        #expect(throws: SessionError.self) { try StoredSession(token: "x", user: name) }
    }
}
