import AgentTestSupport
import FileWatch
import Foundation
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import Reports

@Suite("Uploader: sources")
struct UploaderSourceTests {
    /// Returns a bench after its first full scan; `after`: the next run of another bench, without a scan.
    private func bench(_ remote: ScriptedRemote = ScriptedRemote(), after bench: Bench? = nil) async throws -> Bench {
        let next = try await Bench(
            place: bench?.place, remote: remote, clock: bench?.clock ?? .ahead(by: .seconds(3600)))
        if bench == nil { try await next.scan() }
        return next
    }

    private func key(_ name: String, _ bench: Bench) async throws -> ContentKey {
        try #require(try await bench.record(name)?.key)
    }

    @Test("files share one registration and one finish request, and are committed once")
    func committed() async throws {
        let remote = ScriptedRemote()
        let bench = try await bench(remote)
        try await bench.describe("trip", "title = \"A day\"\ncover = \"b\"\n")
        for (index, name) in ["c", "a", "b"].enumerated() {
            try await bench.drop("trip/\(name)", content(UInt8(index), 700_000))
        }
        try await bench.known("trip/a", "trip/b", "trip/c")
        #expect(remote.registered == [])
        await bench.passQuiet()
        try await bench.until("trip", .file(.done))

        let keys = [try await key("trip/a", bench), try await key("trip/b", bench), try await key("trip/c", bench)]
        #expect(remote.registrations == [keys])
        #expect(remote.questions == [keys])
        let commit = try #require(remote.commits.first)
        #expect(remote.commits.count == 1)
        #expect(commit.title == "A day")
        #expect(commit.revision == 1)
        #expect(commit.fileIDs == ["1", "2", "3"])
        #expect(commit.cover == "2")
        let source = await bench.source("trip")
        #expect(source?.url == "http://u/post/\(commit.sourceID)")
        #expect(source?.progress == 1)
        #expect(source?.pendingChanges == [])
    }

    @Test("the post waits for an existing file, even if the watch reports the file late")
    func lateWatch() async throws {
        let remote = ScriptedRemote()
        let bench = try await bench(remote)
        try await bench.describe("trip")
        try await bench.drop("trip/a", content(1))
        try bench.write("trip/in/b", content(2))
        try bench.write("trip/in/a.outbox.json", [1])
        try await bench.known("trip/a")
        await bench.passQuiet()
        #expect(remote.registered == [])
        #expect(bench.reconsidered.withLock { $0 } == [try bench.path("trip/in/b")])
        try await bench.known("trip/in/b")
        await bench.passQuiet()
        try await bench.until("trip", .file(.done))
        #expect(remote.commits.map(\.fileIDs) == [["1", "2"]])
    }

    @Test("a draft is kept until it is submitted")
    func draft() async throws {
        let remote = ScriptedRemote()
        let bench = try await bench(remote)
        try await bench.describe("trip", "draft = true")
        try await bench.drop("trip/a", content(1))
        try await bench.known("trip/a")
        await bench.passQuiet()
        try await bench.until("trip", .draft)
        try await bench.until("trip/a", is: .paused)
        #expect(remote.registered == [])

        let id = try #require(await bench.source("trip")?.id)
        #expect(await bench.uploader.perform(.submit, onSource: id)?.refusal == nil)
        await bench.passQuiet()
        try await bench.until("trip", .file(.done))
        #expect(remote.commits.map(\.revision) == [1])
    }

    @Test("files under way are adopted, and held if the post is a draft")
    func adopted() async throws {
        let remote = ScriptedRemote()
        remote.hold(.send, letting: 1)
        let bench = try await bench(remote)
        try await bench.drop("trip/a", content(1, 1_200_000))
        try await Poll.until("a fragment under way") { remote.sent.count == 1 && remote.isWaiting(at: .send) }
        try await bench.describe("trip", "draft = true")
        try await bench.until("trip/a", is: .paused)
        remote.release()
        try await bench.describe("trip", "draft = false")
        await bench.passQuiet()
        try await bench.until("trip", .file(.done))
        #expect(remote.registered.count == 1)
        #expect(remote.content(of: "1") == content(1, 1_200_000))
    }

    @Test("resumes after a kill, and repeats a commit whose answer the kill prevented, unchanged")
    func killed() async throws {
        let remote = ScriptedRemote()
        remote.hold(.commit)
        let first = try await bench(remote)
        try await first.describe("trip")
        try await first.drop("trip/a", content(1))
        try await first.known("trip/a")
        await first.passQuiet()
        try await Poll.until("the commit") { remote.isWaiting(at: .commit) }
        await first.kill()
        remote.release()
        let second = try await bench(remote, after: first)
        try await second.until("trip", .file(.done))
        #expect(Set(remote.commits).count == 1)
        #expect(remote.registered.count == 1)
    }

    @Test("files added later wait for the next submit, which makes a new revision of all files")
    func laterFiles() async throws {
        let remote = ScriptedRemote()
        let bench = try await bench(remote)
        try await bench.describe("trip")
        try await bench.drop("trip/a", content(1))
        try await bench.known("trip/a")
        await bench.passQuiet()
        try await bench.until("trip", .file(.done))
        try await bench.drop("trip/b", content(2))
        try await bench.known("trip/b")
        await bench.passQuiet()
        try await Poll.until("the change to be named") {
            await bench.source("trip")?.pendingChanges == [try bench.path("b")]
        }
        #expect(remote.registered.count == 1)
        let id = try #require(await bench.source("trip")?.id)
        _ = await bench.uploader.perform(.submit, onSource: id)
        await bench.passQuiet()
        try await Poll.until("both commits") { remote.commits.count == 2 }
        #expect(remote.commits.map(\.fileIDs) == [["1"], ["1", "2"]])
        #expect(remote.commits.map(\.revision) == [1, 2])
        #expect(Set(remote.commits.map(\.sourceID)).count == 1)
    }

    @Test("removing the directory deletes its contents on the server, except those of other paths")
    func removed() async throws {
        let remote = ScriptedRemote()
        let bench = try await bench(remote)
        try await bench.drop("b", content(2))
        try await bench.ends("b", .done)
        try await bench.describe("trip")
        try await bench.drop("trip/a", content(1))
        try await bench.drop("trip/b", content(2))
        try await bench.drop("trip/c", content(3, 600_000))
        try await bench.known("trip/a", "trip/b", "trip/c")
        remote.hold(.send, letting: 1)
        await bench.passQuiet()
        try await Poll.until("the rest to wait") { remote.sent.count == 2 && remote.isWaiting(at: .send) }
        try await bench.remove("trip")
        await bench.passGrace()
        try await bench.until("trip", .file(.cancelled))
        remote.release()
        try await Poll.until("the ids to be deleted") { Set(remote.removed) == ["2", "3"] }
        #expect(remote.commits == [])
        #expect(try await bench.record("b")?.state == .done)
    }

    @Test("a renamed directory stays the same post")
    func renamed() async throws {
        let remote = ScriptedRemote()
        remote.hold(.send)
        let bench = try await bench(remote)
        try await bench.describe("trip")
        try await bench.drop("trip/a", content(1))
        try await bench.known("trip/a")
        await bench.passQuiet()
        try await Poll.until("a request") { remote.isWaiting(at: .send) }
        let id = await bench.source("trip")?.id
        try await bench.rename("trip", to: "voyage", isDirectory: true)
        remote.release()
        try await bench.until("voyage", .file(.done))
        #expect(await bench.source("voyage")?.id == id)
        #expect(await bench.source("trip") == nil)
        #expect(remote.registered.count == 1)
        #expect(remote.commits.count == 1)
    }

    @Test("without its source.toml a directory is an ordinary directory")
    func dissolved() async throws {
        let remote = ScriptedRemote()
        let bench = try await bench(remote)
        try await bench.describe("trip", "draft = true")
        try await bench.drop("trip/a", content(1))
        try await bench.until("trip/a", is: .paused)
        try await bench.remove("trip/source.toml")
        await bench.passGrace()
        try await bench.ends("trip/a", .done)
        #expect(await bench.source("trip") == nil)
        #expect(remote.commits == [])
    }

    @Test("a malformed description is rejected with its line, and accepted once corrected")
    func malformed() async throws {
        let remote = ScriptedRemote()
        let bench = try await bench(remote)
        try await bench.drop("trip/a", content(1))
        try await bench.ends("trip/a", .done)
        try await bench.describe("trip", "title = \"x\"\ndrfat = true\n")
        try await bench.until("trip", .file(.rejected))
        #expect(await bench.source("trip")?.error?.message.contains("line 2") == true)
        try await bench.describe("trip", "title = \"x\"\n")
        await bench.passQuiet()
        try await bench.until("trip", .file(.done))
        #expect(remote.commits.map(\.title) == ["x"])
    }

    @Test("another account's post waits for its account, and is not committed meanwhile")
    func parked() async throws {
        let server = "test http://127.0.0.1 "
        let (anna, ben) = (ScriptedRemote(scope: server + "anna"), ScriptedRemote(scope: server + "ben"))
        anna.hold(.commit)
        let first = try await Bench(remote: anna, account: "anna")
        try await first.scan()
        try await first.describe("trip")
        try await first.drop("trip/a", content(1))
        try await first.known("trip/a")
        await first.passQuiet()
        try await Poll.until("the commit") { anna.isWaiting(at: .commit) }
        await first.uploader.stop()
        await first.kill()
        anna.release()
        let second = try await Bench(place: first.place, remote: ben, clock: first.clock, account: "ben")
        try await second.scan()
        await second.passQuiet()
        try await second.until("trip", .file(.signedOut))
        #expect(await second.source("trip")?.error?.code == "other_account")
        await second.uploader.stop()
        await second.kill()
        let third = try await Bench(place: first.place, remote: anna, clock: first.clock, account: "anna")
        try await third.until("trip", .file(.done))
        #expect(ben.commits == [] && ben.registered == [])
        #expect(Set(anna.commits).count == 1)
    }

    // MARK: Directories that go and come back

    /// Moves a directory out of the outbox until the removal counts.
    private func hide(_ bench: Bench) async throws {
        #expect(rename("\(bench.outbox)/trip", bench.place.path("aside")) == 0)
        await bench.uploader.take([.gone(try bench.path("trip"))])
        await bench.passGrace()
    }

    private func show(_ bench: Bench, as name: String = "trip") {
        #expect(rename(bench.place.path("aside"), "\(bench.outbox)/\(name)") == 0)
    }

    @Test(
        "a draft whose directory was missing for long stays a draft, also after a restart", arguments: [true, false])
    func draftBack(restarts: Bool) async throws {
        let remote = ScriptedRemote()
        var bench = try await bench(remote)
        try await bench.describe("trip", "draft = true")
        try await bench.drop("trip/a", content(1))
        try await bench.until("trip/a", is: .paused)
        try await hide(bench)
        try await bench.until("trip", .file(.cancelled))
        if restarts {
            await bench.uploader.stop()
            await bench.kill()
            bench = try await self.bench(remote, after: bench)
        }
        show(bench)
        // The watch need not report the files: the ledger may know them.
        try await bench.ready("trip/source.toml")
        try await bench.scan()
        try await bench.until("trip", .draft)
        try await bench.until("trip/a", is: .paused)
        let id = try #require(await bench.source("trip")?.id)
        #expect(await bench.uploader.perform(.submit, onSource: id)?.refusal == nil)
        await bench.passQuiet()
        try await bench.until("trip", .file(.done))
        #expect(remote.commits.map(\.fileIDs.count) == [1])
    }

    @Test(
        "a post whose directory was missing for long continues, also under another name", arguments: ["trip", "sea"])
    func sourceBack(name: String) async throws {
        let remote = ScriptedRemote()
        remote.hold(.send)
        let bench = try await bench(remote)
        try await bench.describe("trip")
        try await bench.drop("trip/a", content(1))
        try await bench.drop("trip/b", content(2))
        try await bench.known("trip/a", "trip/b")
        await bench.passQuiet()
        try await Poll.until("a request") { remote.isWaiting(at: .send) }
        try await hide(bench)
        try await bench.until("trip", .file(.cancelled))
        remote.release()
        show(bench, as: name)
        try await bench.ready("\(name)/source.toml")
        for file in ["a", "b"] where name != "trip" { try await bench.ready("\(name)/\(file)") }
        try await bench.known("\(name)/a", "\(name)/b")
        await bench.passQuiet()
        try await bench.until(name, .file(.done))
        #expect(remote.commits.map(\.fileIDs.count) == [2])
        #expect(await bench.backend.sources().count == 1)
    }

    @Test("a paused post is still paused when its directory is back")
    func pausedBack() async throws {
        let remote = ScriptedRemote()
        let bench = try await bench(remote)
        try await bench.describe("trip")
        let id = try #require(await bench.source("trip")?.id)
        #expect(await bench.uploader.perform(.pause, onSource: id)?.refusal == nil)
        try await bench.drop("trip/a", content(1))
        try await bench.known("trip/a")
        try await hide(bench)
        show(bench)
        try await bench.ready("trip/source.toml")
        try await bench.known("trip/a")
        await bench.passQuiet()
        try await bench.until("trip", .file(.paused))
        #expect(remote.registered == [])
    }

    @Test("a confirmed post whose directory was missing is not posted again")
    func doneBack() async throws {
        let remote = ScriptedRemote()
        let bench = try await bench(remote)
        try await bench.describe("trip")
        try await bench.drop("trip/a", content(1))
        try await bench.known("trip/a")
        await bench.passQuiet()
        try await bench.until("trip", .file(.done))
        let id = await bench.source("trip")?.id
        try await hide(bench)
        #expect(await bench.source("trip") == nil)
        show(bench)
        try await bench.ready("trip/source.toml")
        try await bench.ready("trip/a")
        try await bench.known("trip/a")
        await bench.passQuiet()
        try await bench.until("trip", .file(.done))
        #expect(await bench.source("trip")?.id == id)
        #expect(remote.commits.count == 1)
    }

    // MARK: Copies of the outbox

    /// Replaces a file or directory with a copy made by `cp` with an option.
    private func replace(_ path: String, copyingWith option: String) throws {
        let copy = path + ".copy"
        let process = try Process.run(
            URL(fileURLWithPath: "/bin/cp"), arguments: [option, path, copy])
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        try FileManager.default.removeItem(atPath: path)
        #expect(rename(copy, path) == 0)
    }

    private func next(_ remote: ScriptedRemote, _ old: Bench, copying name: String? = nil, with option: String = "-a")
        async throws -> Bench
    {
        await old.uploader.stop()
        await old.kill()
        if let name { try replace(name.isEmpty ? old.outbox : "\(old.outbox)/\(name)", copyingWith: option) }
        let next = try await bench(remote, after: old)
        for name in ["trip/source.toml", "trip/a"] { try await next.ready(name) }
        try await next.scan()
        try await next.ends("trip/a", .done)
        await next.passQuiet()
        return next
    }

    @Test(
        "a post stays the same if the outbox moves to another machine or is restored from a copy",
        arguments: [("", "-a"), ("", "-r"), ("trip", "-a")])
    func moved(what: (name: String, option: String)) async throws {
        let remote = ScriptedRemote()
        var bench = try await bench(remote)
        try await bench.describe("trip")
        try await bench.drop("trip/a", content(1))
        try await bench.known("trip/a")
        await bench.passQuiet()
        try await bench.until("trip", .file(.done))
        let id = await bench.source("trip")?.id
        bench = try await next(remote, bench, copying: what.name, with: what.option)
        try await bench.until("trip", .file(.done))
        #expect(await bench.source("trip")?.id == id)
        // The next run recognises the copy.
        bench = try await next(remote, bench)
        #expect(await bench.source("trip")?.id == id)
        #expect(remote.commits.count == 1)
        #expect(remote.registered.count == 1)
        try await bench.drop("trip/b", content(2))
        try await Poll.until("the change to be named") {
            await bench.source("trip")?.pendingChanges == [try bench.path("b")]
        }
    }

    @Test("a directory recreated with other files while no agent ran is a new post")
    func madeAnew() async throws {
        let remote = ScriptedRemote()
        let first = try await bench(remote)
        try await first.describe("trip")
        try await first.drop("trip/a", content(1))
        try await first.known("trip/a")
        await first.passQuiet()
        try await first.until("trip", .file(.done))
        let id = await first.source("trip")?.id
        await first.uploader.stop()
        await first.kill()
        try FileManager.default.removeItem(atPath: "\(first.outbox)/trip")
        try first.write("trip/a", content(2, 2000))
        try first.write("trip/source.toml", [])
        let bench = try await bench(remote, after: first)
        try await bench.ready("trip/source.toml")
        try await bench.ready("trip/a")
        try await bench.scan()
        try await bench.known("trip/a")
        await bench.passQuiet()
        try await Poll.until("the second post") { remote.commits.count == 2 }
        #expect(await bench.source("trip")?.id != id)
    }
}
