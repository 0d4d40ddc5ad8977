import Foundation
import Remotes
import Synchronization
import TestSupport
import Testing

@testable import Session

@Suite("Session keeper")
struct SessionKeeperTests {
    private let place: TemporaryDirectory
    private let store: SessionStore

    init() throws {
        place = try TemporaryDirectory()
        store = SessionStore(stateDirectory: place.path("state"))
    }

    private func keeper(
        environment: String? = nil, account: String = "anna", mayTravel: Bool = true,
        interval: Duration = .milliseconds(5), onOther: @escaping @Sendable () -> Void = {}
    ) -> SessionKeeper {
        SessionKeeper(
            Credentials(
                environmentToken: environment, tokenFile: place.path("file"), stateDirectory: place.path("state"),
                mayTravel: mayTravel),
            account: Account(name: account, session: store, change: onOther), interval: interval)
    }

    private func write(_ token: String) throws {
        // At once: a watch could read a file that is written in part.
        try Data(token.utf8).write(to: URL(fileURLWithPath: place.path("file")), options: .atomic)
    }

    @Test("withholds a token that may not travel, but knows that there is one")
    func guarded() async {
        #expect(await keeper(environment: "abc").bearerToken() == "abc")
        let guarded = keeper(environment: "abc", mayTravel: false)
        #expect(await guarded.bearerToken() == nil)
        #expect(guarded.hasCredential)
    }

    @Test("supplies the token that the file held a moment ago")
    func present() async throws {
        let keeper = keeper()
        try write("one")
        #expect(await keeper.bearerToken() == "one")
        try write("two")
        try await Poll.until("the other token is supplied") { await keeper.bearerToken() == "two" }
    }

    @Test("reads the token once for all requests of a moment")
    func once() async throws {
        let keeper = keeper(interval: .seconds(3600))
        try write("one")
        #expect(await keeper.bearerToken() == "one")
        try write("two")
        #expect(await keeper.bearerToken() == "one")
    }

    @Test("reads the token again after a refusal, a login, a logout and a reload")
    func again() async throws {
        let keeper = keeper(interval: .seconds(3600))
        #expect(await keeper.bearerToken() == nil)
        _ = try await keeper.signIn(token: "stored", user: "anna") {}
        #expect(await keeper.bearerToken() == "stored")
        _ = try await keeper.signOut { _ in }
        #expect(await keeper.bearerToken() == nil)
        try write("one")
        keeper.setTokenFile(place.path("file"))
        #expect(await keeper.bearerToken() == "one")
        try write("two")
        keeper.watch {}
        #expect(await keeper.bearerToken() == "two")
    }

    @Test("reports a token that replaced the refused one before the watch began")
    func replacedEarly() async throws {
        let keeper = keeper(interval: .milliseconds(5))
        try write("one")
        #expect(await keeper.bearerToken() == "one")
        try write("two")
        let changes = Mutex(0)
        keeper.watch { changes.withLock { $0 += 1 } }
        try await Poll.until("the change is reported") { changes.withLock { $0 } == 1 }
    }

    @Test("reads token files on its own thread, not on the cooperative pool")
    func thread() async {
        #expect(await keeper().threadName() == "session")
    }

    @Test("supplies no token of another account, and reports that account")
    func otherAccount() async throws {
        let reports = Mutex(0)
        try store.save(StoredSession(token: "secret", user: "berta"))
        #expect(await keeper(onOther: { reports.withLock { $0 += 1 } }).bearerToken() == nil)
        #expect(reports.withLock { $0 } > 0)
    }

    @Test("is signed out after a logout, until there is a token")
    func signedOut() async throws {
        let keeper = keeper()
        #expect(!keeper.isSignedOut)
        _ = try await keeper.signOut { _ in }
        #expect(keeper.isSignedOut)
        #expect(await keeper.refusal() == SessionKeeper.signedOut)
        try write("one")
        #expect(!keeper.isSignedOut)
        #expect(await keeper.refusal() == nil)
    }

    @Test("recognises the login of another account")
    func login() async throws {
        #expect(try await keeper().login(token: "abc", user: "berta").isOther)
        #expect(try await !keeper().login(token: "abc", user: "anna").isOther)
        #expect(try await !keeper().login(token: "abc", user: nil).isOther)
        // A token of higher precedence stays in use.
        #expect(try await !keeper(environment: "env").login(token: "abc", user: "berta").isOther)
        await #expect(throws: SessionError.mayNotTravel) {
            try await keeper(mayTravel: false).login(token: "abc", user: nil)
        }
    }

    /// What happened, in order.
    private final class Story: Sendable {
        private let list = Mutex<[String]>([])
        var words: [String] { list.withLock { $0 } }
        func add(_ word: String) { list.withLock { $0.append(word) } }
    }

    @Test("stops the agent before it stores another account's token, then restarts the agent")
    func signInOther() async throws {
        try store.save(StoredSession(token: "one", user: "anna"))
        let story = Story()
        let keeper = keeper(onOther: { story.add("restart") })
        let isOther = try await keeper.signIn(token: "two", user: "berta") { [store] in
            story.add("stop for \(store.load()?.user ?? "-")")
        }
        #expect(isOther)
        #expect(story.words == ["stop for anna", "restart"])
        #expect(store.load()?.user == "berta")
    }

    @Test("stores a token of the same account without a stop")
    func signInAgain() async throws {
        let story = Story()
        let keeper = keeper(onOther: { story.add("restart") })
        #expect(try await !keeper.signIn(token: "two", user: "anna") { story.add("stop") })
        #expect(story.words == [])
        #expect(store.load()?.token == "two")
    }

    @Test("restarts the stopped agent for its own account if the other token can't be stored")
    func unwritable() async throws {
        try Data().write(to: URL(fileURLWithPath: place.path("state")))
        let story = Story()
        let keeper = keeper(onOther: { story.add("restart") })
        await #expect(throws: SessionError.self) {
            try await keeper.signIn(token: "two", user: "berta") { story.add("stop") }
        }
        #expect(story.words == ["stop", "restart"])
    }

    @Test("holds the uploads before it discards the token in use")
    func signOut() async throws {
        try store.save(StoredSession(token: "one", user: "anna"))
        let story = Story()
        let end = try await keeper().signOut { [store] reason in
            story.add("\(reason == nil ? "continue" : "hold") \(store.load() == nil ? "after" : "before")")
        }
        #expect(end == SessionKeeper.SignOut(hadToken: true, wasInUse: true))
        #expect(story.words == ["hold before"])
        #expect(store.isSignedOut)
    }

    @Test("lets the uploads continue if the token can't be discarded")
    func notDiscarded() async throws {
        try Data().write(to: URL(fileURLWithPath: place.path("state")))
        let story = Story()
        await #expect(throws: SessionError.self) {
            _ = try await keeper().signOut { story.add($0 == nil ? "continue" : "hold") }
        }
        #expect(story.words == ["hold", "continue"])
    }

    @Test("holds no uploads that use another token than the stored one")
    func otherToken() async throws {
        try store.save(StoredSession(token: "one", user: "anna"))
        let story = Story()
        let end = try await keeper(environment: "env").signOut { _ in story.add("hold") }
        #expect(end == SessionKeeper.SignOut(hadToken: true, wasInUse: false))
        #expect(story.words == [])
    }

    @Test("reports each change of the token while it watches")
    func watch() async throws {
        try write("one")
        let keeper = keeper()
        let changes = Mutex(0)
        keeper.watch { changes.withLock { $0 += 1 } }
        // A second call starts no second watch.
        keeper.watch { changes.withLock { $0 += 100 } }
        _ = await keeper.bearerToken()
        for (count, token) in ["two", "three"].enumerated() {
            try write(token)
            try await Poll.until("the change to \(token)") { changes.withLock { $0 } == count + 1 }
        }
    }
}

extension SessionKeeper {
    fileprivate func threadName() -> String? {
        FileManager.default.contents(atPath: "/proc/thread-self/comm").map {
            String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines)
        }
    }
}

extension SessionKeeper {
    /// The token that a request would carry.
    nonisolated fileprivate func bearerToken() async -> String? {
        if case .bearer(let token) = await credential() { token } else { nil }
    }
}
