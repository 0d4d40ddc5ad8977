import AgentTestSupport
import Foundation
import LinuxSystem
import Session
import TestSupport
import Testing

@testable import Agent
@testable import Reports
@testable import UploadCore

@Suite("Uploader: files of several accounts")
struct AccountTests {
    private static let server = "test http://127.0.0.1 "

    private func bench(_ account: String, after bench: Bench? = nil, _ remote: ScriptedRemote) async throws -> Bench {
        try await Bench(place: bench?.place, remote: remote, account: account)
    }

    private func remote(_ account: String) -> ScriptedRemote { ScriptedRemote(scope: Self.server + account) }

    private func end(_ bench: Bench) async {
        await bench.uploader.stop()
        await bench.kill()
    }

    /// Returns a bench with Anna's upload of two fragments, the first already on the server.
    private func halfSent(_ anna: ScriptedRemote) async throws -> Bench {
        anna.hold(.send, letting: 1)
        let first = try await bench("anna", anna)
        try await first.drop("a", content(1, 800_000))
        try await Poll.until("one of two fragments") { anna.sent.count == 1 && anna.isWaiting(at: .send) }
        let id = FileReport.id(of: try first.path("a"))
        try await Poll.until("its acknowledgement") {
            await first.backend.file(id: id)?.fragments?.finished == 1
        }
        await end(first)
        anna.release()
        return first
    }

    @Test("files dropped after another login belong to the new account")
    func betweenAccounts() async throws {
        let (anna, ben) = (remote("anna"), remote("ben"))
        let first = try await bench("anna", anna)
        #expect(try await first.backend.signIn(token: "u", user: "ben"))
        try await first.drop("b", content(2))
        #expect(try await first.record("b") == nil)
        await end(first)

        let second = try await bench("ben", after: first, ben)
        try await second.ready("b")
        try await second.ends("b", .done)
        #expect(anna.registered == [])
        #expect(ben.registered.count == 1)
    }

    @Test("an upload waits while another user is signed in, and then resumes")
    func parked() async throws {
        let (anna, ben) = (remote("anna"), remote("ben"))
        let first = try await halfSent(anna)
        let second = try await bench("ben", after: first, ben)
        let id = FileReport.id(of: try second.path("a"))
        let report = await second.backend.file(id: id)
        #expect(report?.state == .signedOut)
        #expect(report?.error?.code == "other_account")
        #expect(report?.fragments == .init(total: 2, finished: 1))
        try await second.drop("b", content(2))
        try await second.ends("b", .done)
        #expect(ben.registered == [try await second.record("b")?.key])
        await end(second)

        let third = try await bench("anna", after: second, anna)
        try await third.ends("a", .done)
        #expect(anna.registered.count == 1)
        #expect(anna.sent.count == 2)
        #expect(anna.content(of: "1") == content(1, 800_000))
    }

    @Test("the same content of two accounts is two uploads, and both keep their progress")
    func sameContent() async throws {
        let (anna, ben) = (remote("anna"), remote("ben"))
        let first = try await halfSent(anna)
        let second = try await bench("ben", after: first, ben)
        try await second.drop("b", content(1, 800_000))
        try await second.ends("b", .done)
        #expect(ben.sent.count == 2)
        await end(second)
        let third = try await bench("anna", after: second, anna)
        try await third.ends("a", .done)
        #expect(anna.sent.count == 2)
    }

    @Test("a file done for one account is not sent for another, and stays done")
    func done() async throws {
        let (anna, ben) = (remote("anna"), remote("ben"))
        let first = try await bench("anna", anna)
        try await first.drop("a", content(1))
        try await first.ends("a", .done)
        await end(first)
        let second = try await bench("ben", after: first, ben)
        // The event that follows a change of attributes.
        try await second.ready("a")
        try await second.drop("b", content(2))
        try await second.ends("b", .done)
        try await second.ends("a", .done)
        #expect(ben.registered.count == 1)
        #expect(try await second.record("a")?.account == "anna")
    }

    @Test("cancelling a parked file is final, and its owner's server deletes the upload")
    func cancelled() async throws {
        let (anna, ben) = (remote("anna"), remote("ben"))
        let first = try await halfSent(anna)
        let second = try await bench("ben", after: first, ben)
        _ = await second.uploader.performOnAll(.cancel, below: nil)
        try await second.ends("a", .cancelled)
        #expect(ben.removed == [])
        await end(second)
        let third = try await bench("anna", after: second, anna)
        try await Poll.until("the id to be deleted") { anna.removed == ["1"] }
        try await third.ends("a", .cancelled)
    }

    @Test("an overwritten file belongs to the account signed in at that time")
    func overwritten() async throws {
        let (anna, ben) = (remote("anna"), remote("ben"))
        let first = try await halfSent(anna)
        let second = try await bench("ben", after: first, ben)
        try await second.drop("a", content(7))
        try await second.ends("a", .done)
        #expect(try await second.record("a")?.account == "ben")
        #expect(ben.content(of: "1") == content(7))
    }

    @Test("a file dropped before a login but found later belongs to the former account")
    func foundLater() async throws {
        let (anna, ben) = (remote("anna"), remote("ben"))
        let first = try await bench("anna", anna)
        let store = SessionStore(stateDirectory: first.place.path("state"))
        try store.save(try StoredSession(token: "t", user: "anna"))
        // Kernel timestamps advance in steps of some milliseconds.
        let begun = try #require(store.turns.last?.until)
        try await Poll.until("a file of Anna's time") {
            try first.write("early", content(1))
            return try first.status("early").changed > begun
        }
        await end(first)
        let early = try first.status("early").changed
        try await Poll.until("a later time") {
            try first.write(".clock", [1])
            return try first.status(".clock").changed > early
        }
        try store.save(try StoredSession(token: "t", user: "ben"))
        let second = try await bench("ben", after: first, ben)
        try await second.ready("early")
        try await second.drop("late", content(2))
        try await second.ends("late", .done)
        try await second.until("early", is: .signedOut)
        #expect(ben.registered.count == 1)
        await end(second)
        let third = try await bench("anna", after: second, anna)
        try await third.ready("early")
        try await third.ends("early", .done)
    }

    @Test("files dropped before the first named login belong to that account")
    func nobody() async throws {
        let (nobody, anna) = (remote("default"), remote("anna"))
        nobody.hold(.send)
        let first = try await bench("default", nobody)
        try await first.drop("a", content(1))
        try await Poll.until("the first request") { nobody.isWaiting(at: .send) }
        await end(first)
        nobody.release()
        let second = try await bench("anna", after: first, anna)
        try await second.ready("a")
        try await second.ends("a", .done)
        #expect(try await second.record("a")?.account == "anna")
    }

    @Test("after a logout nothing is sent, also after a restart, until a login")
    func signedOut() async throws {
        let anna = remote("anna")
        anna.hold(.send, letting: 1)
        let first = try await bench("anna", anna)
        _ = try await first.backend.signIn(token: "t", user: "anna")
        try await first.drop("a", content(1, 800_000))
        try await Poll.until("one of two fragments") { anna.sent.count == 1 && anna.isWaiting(at: .send) }
        try await first.backend.signOut()
        anna.release()
        try await first.until("a", is: .signedOut)
        try await first.drop("b", content(2))
        try await first.until("b", is: .signedOut)
        await end(first)
        let second = try await bench("anna", after: first, anna)
        try await second.until("a", is: .signedOut)
        #expect(anna.registered.count == 1)
        #expect(try await !second.backend.signIn(token: "u", user: "anna"))
        try await second.ends("a", .done)
        try await second.ends("b", .done)
        #expect(anna.content(of: "1") == content(1, 800_000))
    }
}

@Suite("Ownership")
struct OwnershipTests {
    @Test("the first scan assigns files changed before a login to the former account")
    func turns() {
        let ownership = Ownership(
            present: "anna", turns: [.init(account: "anna", until: 1000), .init(account: "ben", until: 2000)])
        #expect(ownership.owner(changed: 999, isFound: true) == "anna")
        #expect(ownership.owner(changed: 1000, isFound: true) == "ben")
        #expect(ownership.owner(changed: 2000, isFound: true) == "anna")
        #expect(ownership.owner(changed: 1500, isFound: false) == "anna")
        #expect(ownership.owner(changed: nil, isFound: true) == "anna")
        let first = Ownership(present: "ben", turns: [.init(account: Ownership.nobody, until: 9)])
        #expect(first.owner(changed: 1, isFound: true) == "ben")
    }

    @Test("only records of another account are parked")
    func parked() {
        let ownership = Ownership(present: "ben")
        #expect(ownership.isParked("anna"))
        #expect(!ownership.isParked("ben"))
        #expect(!ownership.isParked(nil))
        #expect(!ownership.isParked(Ownership.nobody))
        #expect(Ownership(present: nil).isParked("anna"))
    }

    @Test("records of earlier formats belong to the legacy account")
    func legacy() {
        let ownership = Ownership(present: "ben", legacy: "anna")
        #expect(ownership.isParked(nil))
        #expect(!ownership.isParked(Ownership.nobody))
        #expect(!Ownership(present: "anna", legacy: "anna").isParked(nil))
    }

    @Test("survives storing and reading", arguments: ["", "anna", "mary ann", "1 2"])
    func stored(account: String) {
        let turns = [
            Ownership.Turn(account: "y", until: 7), .init(account: account, until: 1_700_000_000_123_456_789),
        ]
        #expect(Ownership.turns(Ownership.text(of: turns)) == turns)
    }

    @Test("ignores malformed text", arguments: ["", "anna", "x 1", "-", "7"])
    func foreign(text: String) { #expect(Ownership.turns(text) == []) }
}
