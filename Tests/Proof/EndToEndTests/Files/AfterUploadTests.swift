import EndToEndSupport
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("After the upload", .agents)
struct AfterUploadTests {
    /// Returns the files in a directory of the outbox, including hidden ones and without sidecars. Reads until two
    /// readings agree, because one reading may miss a file moved between directories.
    private func files(of agent: Agent, in directory: String = "") -> [String] {
        func reading() -> [String] {
            Files.regularFiles(agent.path(directory)).filter { !$0.hasSuffix(".outbox.json") }.sorted()
        }
        var last = reading()
        while true {
            let next = reading()
            if next == last { return next }
            last = next
        }
    }

    private func expectMoved(
        _ key: String, to name: String, in agent: Agent, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let sidecar = try await agent.reached(name, .done)
        #expect(sidecar.path == name, sourceLocation: sourceLocation)
        #expect(sidecar.key == key, sourceLocation: sourceLocation)
        #expect(try Digest.md5(file: agent.path(name)) == key, sourceLocation: sourceLocation)
    }

    // MARK: move

    @Test("file and sidecar move together, keep their subdirectory, and path is updated")
    func moves() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move"])
        try await agent.start()

        let key = try agent.drop("trip/day 1/beach.jpg", .jpeg, size: 600_000)

        try await expectMoved(key, to: "Sent/trip/day 1/beach.jpg", in: agent)
        #expect(!agent.exists("trip/day 1/beach.jpg"))
        try await Poll.until("the old sidecar to go") { try agent.sidecar("trip/day 1/beach.jpg") == nil }
        #expect(try await agent.entry("Sent/trip/day 1/beach.jpg")?["state"] as? String == "done")
        #expect(try await agent.entry("trip/day 1/beach.jpg") == nil)
        expectClean(server, finished: [key])
    }

    @Test("if the target's name is taken, the moved file gets a number and the earlier file stays")
    func takenName() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move", "intake.move_to": "put/away"])
        try await agent.start()
        let first = try agent.drop("a.jpg", .jpeg, size: 2000, seed: 1)
        try await expectMoved(first, to: "put/away/a.jpg", in: agent)

        let second = try agent.drop("a.jpg", .jpeg, size: 2000, seed: 2)
        try await expectMoved(second, to: "put/away/a (2).jpg", in: agent)
        let third = try agent.drop("a.jpg", .jpeg, size: 2000, seed: 3)
        try await expectMoved(third, to: "put/away/a (3).jpg", in: agent)

        try await expectMoved(first, to: "put/away/a.jpg", in: agent)
        expectClean(server, finished: [first, second, third])
    }

    @Test("files in move_to are never uploaded, even after a restart")
    func notTakenAgain() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move", "intake.rescan": "1s"])
        try agent.drop("Sent/foreign.jpg", .jpeg, size: 3000)
        try await agent.start()
        let first = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await expectMoved(first, to: "Sent/a.jpg", in: agent)
        try await agent.stop()

        try await agent.start()
        let second = try agent.drop("b.jpg", .jpeg, size: 2000)
        try await expectMoved(second, to: "Sent/b.jpg", in: agent)
        // Returns after the agent has scanned the whole outbox.
        #expect(try await agent.command("wait").code == 0)

        #expect(files(of: agent) == ["Sent/a.jpg", "Sent/b.jpg", "Sent/foreign.jpg"])
        #expect(try agent.sidecar("Sent/foreign.jpg") == nil)
        expectClean(server, finished: [first, second])
        #expect(server.count(.preLoad) == 2)
    }

    @Test("two files with the same content both leave, and the content is sent once", arguments: ["delete", "move"])
    func copies(afterUpload: String) async throws {
        let server = try FaultServer(uploadDelay: .milliseconds(100))
        let agent = try Agent(remote: server.url, ["intake.after_upload": .string(afterUpload)])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 1_500_000, seed: 1)
        try agent.drop("trip/b.jpg", .jpeg, size: 1_500_000, seed: 1)

        let left = afterUpload == "move" ? ["Sent/a.jpg", "Sent/trip/b.jpg"] : []
        try await Poll.until("both to go", lastState: { "\(files(of: agent)) \(agent.log)" }) {
            files(of: agent) == left
        }
        for name in left.isEmpty ? ["a.jpg", "trip/b.jpg"] : left { try await agent.reached(name, .done) }
        expectClean(server, finished: [key])
        #expect(server.store.repeated == 0)
    }

    @Test("a file taken back out of move_to is moved there again, and is not sent again")
    func takenBack() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000)
        try await expectMoved(key, to: "Sent/a.jpg", in: agent)
        let asked = server.count(.isFinish)

        try Files.rename(agent.path("Sent/a.jpg"), to: agent.path("again.jpg"))

        try await expectMoved(key, to: "Sent/again.jpg", in: agent)
        #expect(files(of: agent) == ["Sent/again.jpg"])
        #expect(server.count(.isFinish) > asked, "the server is asked again")
        expectClean(server, finished: [key])
        #expect(server.store.repeated == 0)
    }

    @Test("an unusable move_to is reported and loses no file, which moves once move_to is usable")
    func unusableTarget() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move", "intake.rescan": "1s"])
        try agent.drop("Sent", Array("a plain file\n".utf8))
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000)

        try await agent.hasSaid("error", "move_to")
        #expect(try await agent.problems().contains { $0.contains("move_to") })
        try await Poll.until("the file to be in its place", lastState: { agent.log }) { agent.exists("a.jpg") }
        #expect(Files.read(Array(agent.path("Sent").utf8)) == Array("a plain file\n".utf8))
        try await agent.reached("a.jpg", .done)

        agent.remove("Sent")
        try await expectMoved(key, to: "Sent/a.jpg", in: agent)
        #expect(try await agent.problems() == [])
        expectClean(server, finished: [key])
    }

    @Test("a file that could not leave before a restart leaves only after the server was asked again")
    func unusableTargetBefore() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move", "intake.rescan": "1s"])
        try agent.drop("Sent", Array("a plain file\n".utf8))
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000)
        try await agent.hasSaid("error", "move_to")
        try await agent.stop()
        let asked = server.count(.isFinish)

        agent.remove("Sent")
        try await agent.start()

        try await expectMoved(key, to: "Sent/a.jpg", in: agent)
        #expect(server.count(.isFinish) > asked)
        expectClean(server, finished: [key])
    }

    // MARK: delete

    @Test("delete removes the file, and sidecar and entry stay for the retention")
    func deletes() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "delete"])
        try await agent.start()

        let key = try agent.drop("trip/beach.jpg", .jpeg, size: 600_000)

        let name = "trip/beach.jpg"
        try await Poll.until("the file to go", lastState: { agent.log }) {
            !agent.exists(name) && files(of: agent) == []
        }
        #expect(try await agent.reached(name, .done).key == key)
        #expect(try await agent.entry(name)?["state"] as? String == "done")
        expectClean(server, finished: [key])

        // A removal by the user would have removed the sidecar within seconds, and so would a restart without the
        // record.
        try await agent.stop()
        try await agent.start()
        #expect(try await agent.command("wait").code == 0)
        #expect(try agent.sidecar(name)?.state == .done)

        try await agent.stop()
        try agent.configure(["sidecars.retention": "1s", "intake.rescan": "1s"])
        try await agent.start()
        try await Poll.until("the sidecar to go", lastState: { agent.log }) { try agent.sidecar(name) == nil }
        #expect(server.count(.delete) == 0, "what is confirmed stays on the server")
    }

    @Test("before it deletes on an old confirmation, the agent asks the server again")
    func oldConfirmation() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "delete"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000, seed: 1)
        try await Poll.until("the first copy to go", lastState: { agent.log }) { files(of: agent) == [] }
        let id = try #require(server.store.uploads.keys.first)
        server.setFaults { endpoint, _ in endpoint == .isFinish ? .status(503) : nil }
        let asked = server.count(.isFinish)

        try agent.drop("b.jpg", .jpeg, size: 600_000, seed: 1)

        try await Poll.until("two questions in vain", lastState: { agent.log }) { server.count(.isFinish) >= asked + 2 }
        #expect(agent.exists("b.jpg"))
        let questions = server.records.filter { $0.endpoint == .isFinish }.dropFirst(asked)
        #expect(questions.allSatisfy { SectionStore.identifiers($0.body) == [id] })

        server.setFaults { _, _ in nil }
        try await Poll.until("the second copy to go", lastState: { agent.log }) { files(of: agent) == [] }
        #expect(try await agent.reached("b.jpg", .done).deduplicated)
        expectClean(server, finished: [key])
        #expect(server.store.repeated == 0)
    }

    @Test("content that the server forgot is sent again before the file is deleted")
    func forgottenConfirmation() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "delete"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000, seed: 1)
        try await Poll.until("the first copy to go", lastState: { agent.log }) { files(of: agent) == [] }
        let id = try #require(server.store.uploads.keys.first)
        server.change { $0.forget(id) }
        // The server confirms the second content only after the test has looked.
        server.setFaults { endpoint, number in endpoint == .isFinish && number > 2 ? .assembling : nil }

        try agent.drop("b.jpg", .jpeg, size: 600_000, seed: 1)

        try await Poll.until("it to be sent again", lastState: { agent.log }) { server.store.repeated >= 2 }
        #expect(agent.exists("b.jpg"))
        server.setFaults { _, _ in nil }
        try await Poll.until("the second copy to go", lastState: { agent.log }) { files(of: agent) == [] }
        try await agent.reached("b.jpg", .done)
        expectClean(server, finished: [key, key])
    }

    // MARK: The last check before a file leaves

    @Test("a file that changes just before its confirmation, with times put back, is uploaded anew")
    func changedMeanwhile() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move"])
        let path = agent.path("a.jpg")
        server.setFaults { endpoint, number in
            guard endpoint == .isFinish && number == 1 else { return nil }
            var status = stat()
            stat(path, &status)
            try? Files.patch(path, at: 300_000, with: Array("changed".utf8))
            utimensat(AT_FDCWD, path, [status.st_atim, status.st_mtim], 0)
            return nil
        }
        try await agent.start()
        let old = try agent.drop("a.jpg", .jpeg, size: 700_000)

        let moved = try await agent.reached("Sent/a.jpg", .done)

        let key = try Digest.md5(file: agent.path("Sent/a.jpg"))
        #expect(key != old)
        #expect(moved.key == key)
        expectClean(server, finished: [old, key])
        #expect(files(of: agent) == ["Sent/a.jpg"])
    }

    @Test("a file open for writing stays until it is closed, and is then uploaded and moved")
    func openForWriting() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move"])
        let path = agent.path("a.jpg")
        let writer = Writer()
        server.setFaults { endpoint, number in
            if endpoint == .isFinish && number == 1 { writer.open(path) }
            return nil
        }
        try await agent.start()
        let old = try agent.drop("a.jpg", .jpeg, size: 700_000)
        try await Poll.until("a confirmation", lastState: { agent.log }) { server.finished == [old] }

        // A later file that is moved shows that the agent had enough time.
        let witness = try agent.drop("witness.jpg", .jpeg, size: 2000)
        try await expectMoved(witness, to: "Sent/witness.jpg", in: agent)
        try await Poll.until("the file to be in its place", lastState: { agent.log }) { agent.exists("a.jpg") }
        #expect(!agent.exists("Sent/a.jpg"))

        try #require(writer.writeAndClose(Array("changed".utf8), at: 300_000))
        let moved = try await agent.reached("Sent/a.jpg", .done)
        #expect(try Digest.md5(file: agent.path("Sent/a.jpg")) == moved.key)
        #expect(moved.key != old)
        #expect(Set(server.finished) == [old, witness, moved.key])
        #expect(server.store.mixtures == [])
    }

    @Test("if another directory replaces the outbox, a confirmation deletes no file of the same name there")
    func otherDirectory() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .isFinish ? .assembling : nil })
        let agent = try Agent(remote: server.url, ["intake.after_upload": "delete", "intake.rescan": "1s"])
        let (first, other) = (agent.directory.path("first"), agent.directory.path("other"))
        let second = SampleMedia.jpeg.bytes(size: 600_000, seed: 2)
        try Files.makeDirectory(other)
        try Files.write(second, to: other + "/a.jpg")
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000, seed: 1)
        try await agent.reached("a.jpg", .verifying)

        try Files.rename(agent.outbox, to: first)
        try Files.rename(other, to: agent.outbox)
        try await agent.hasSaid("outbox is gone")
        server.setFaults { _, _ in nil }

        try await Poll.until("the second file to go", lastState: { agent.log }) { files(of: agent) == [] }
        #expect(server.finished.contains(Digest.md5(second)))
        #expect(try Digest.md5(file: first + "/a.jpg") == key)

        try Files.rename(agent.outbox, to: other)
        try Files.rename(first, to: agent.outbox)
        try await Poll.until("the first file to go", lastState: { agent.log }) { files(of: agent) == [] }
        #expect(Set(server.finished) == [key, Digest.md5(second)])
        #expect(server.store.mixtures == [])
    }

    @Test("a confirmation that arrives while the outbox is away takes effect when it returns")
    func confirmedWhileAway() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .isFinish ? .assembling : nil })
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move", "intake.rescan": "1s"])
        let away = agent.directory.path("away")
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000)
        try await agent.reached("a.jpg", .verifying)

        try Files.rename(agent.outbox, to: away)
        try await agent.hasSaid("outbox is gone")
        server.setFaults { _, _ in nil }
        try await Poll.until("the confirmation", lastState: { agent.log }) { server.finished == [key] }
        try Files.rename(away, to: agent.outbox)

        try await expectMoved(key, to: "Sent/a.jpg", in: agent)
        #expect(files(of: agent) == ["Sent/a.jpg"])
        expectClean(server, finished: [key])
        #expect(server.store.repeated == 0)
    }

    @Test("kills during thirty uploads lose no file", arguments: ["delete", "move"])
    func kills(afterUpload: String) async throws {
        let server = try FaultServer(uploadDelay: .milliseconds(20))
        let agent = try Agent(
            remote: server.url, ["intake.after_upload": .string(afterUpload), "intake.rescan": "1s"])
        let keys = try (0..<30).map { try agent.drop("\($0 % 3)/\($0).jpg", .jpeg, size: 600_000) }
        for confirmed in [2, 9, 16, 23, 30] {
            try await agent.start()
            try await Poll.until("\(confirmed) confirmations", lastState: { agent.log }) {
                server.finished.count >= confirmed
            }
            try await agent.kill()
        }

        try await agent.start()
        let left = afterUpload == "move" ? (0..<30).map { "Sent/\($0 % 3)/\($0).jpg" }.sorted() : []
        try await Poll.until("every file to be gone", lastState: { "\(files(of: agent)) \(agent.log)" }) {
            files(of: agent) == left
        }

        expectClean(server, finished: keys)
        let moved = try files(of: agent).map { try Digest.md5(file: agent.path($0)) }
        #expect(moved.sorted() == (afterUpload == "move" ? keys.sorted() : []))
        let prefix = afterUpload == "move" ? "Sent/" : ""
        for index in 0..<30 { try await agent.reached("\(prefix)\(index % 3)/\(index).jpg", .done) }
    }
}

/// A program with a file open for writing. The server's threads open the file and the test closes it.
private final class Writer: Sendable {
    private let descriptor = Mutex<Int32>(-1)

    func open(_ path: String) {
        descriptor.withLock { $0 = Glibc.open(path, O_WRONLY | O_CLOEXEC) }
    }

    /// Writes to the file and closes it. Returns whether the file was open and writable.
    func writeAndClose(_ bytes: [UInt8], at offset: Int) -> Bool {
        descriptor.withLock { descriptor in
            defer {
                close(descriptor)
                descriptor = -1
            }
            return pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count
        }
    }

    deinit { descriptor.withLock { if $0 >= 0 { _ = close($0) } } }
}
