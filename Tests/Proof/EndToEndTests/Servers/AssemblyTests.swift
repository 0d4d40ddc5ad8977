import EndToEndSupport
import TestSupport
import Testing

@Suite("isFinish and lost replies", .agents)
struct AssemblyTests {
    typealias Fault = FaultServer.Fault

    @Test("fragments the server could not assemble are sent again", arguments: [Fault.assemblyFailed, .otherDigest])
    func sentAgain(fault: Fault) async throws {
        let server = try FaultServer(faults: { endpoint, number in endpoint == .isFinish && number == 1 ? fault : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 1_200_000)

        try await agent.reached("a.jpg", .done)

        expectClean(server, finished: [key])
        #expect(server.store.arrivals[key] == [1: 2, 2: 2, 3: 2])
    }

    @Test("a third failed assembly of the same bytes fails the file", arguments: [Fault.assemblyFailed, .otherDigest])
    func thirdTime(fault: Fault) async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .isFinish ? fault : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 1_200_000)

        let failed = try await agent.reached("a.jpg", .failed)

        #expect(failed.error?.code == "assembly_failed")
        #expect(server.count(.isFinish) == 3)
        #expect(server.store.arrivals[key] == [1: 3, 2: 3, 3: 3])
    }

    @Test("while the server assembles, the agent asks again and sends nothing again")
    func stillAssembling() async throws {
        let server = try FaultServer(faults: { endpoint, number in
            endpoint == .isFinish && number <= 2 ? .assembling : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 1_200_000)

        try await agent.reached("a.jpg", .verifying, .done)
        try await agent.reached("a.jpg", .done)

        expectClean(server, finished: [key])
        #expect(server.count(.isFinish) == 3)
        #expect(server.store.repeated == 0)
    }

    @Test("a reply lost after the server did the work makes no duplicate", arguments: FaultTableTests.requests)
    func lostReply(request: FaultServer.Endpoint) async throws {
        let server = try FaultServer(faults: { endpoint, number in endpoint == request && number == 1 ? .lostReply : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 1_200_000)

        try await agent.reached("a.jpg", .done)

        expectClean(server, finished: [key])
        #expect(server.store.repeated <= 1)
    }

    @Test("40 files are uploaded although one reply in five is lost")
    func manyLostReplies() async throws {
        let server = try FaultServer(faults: { _, number in number % 5 == 3 ? .lostReply : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let keys = try (0..<40).map { try agent.drop("\($0).jpg", .jpeg, size: 1000 + $0 * 30_000) }

        for index in 0..<40 { try await agent.reached("\(index).jpg", .done, timeout: .seconds(120)) }
        expectClean(server, finished: keys)
    }

    @Test("if the server forgets a file half-way, only that file is sent again from the start")
    func forgets() async throws {
        let server = try FaultServer(uploadDelay: .milliseconds(40))
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        let small = try agent.drop("small.jpg", .jpeg, size: 2000)
        try await agent.reached("small.jpg", .done)
        server.setFaults(FaultServer.keepsAssembling)
        let key = try agent.drop("a.jpg", .jpeg, size: 20 * 524_288)
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 5 }
        server.change { store in
            for (id, upload) in store.uploads where upload.md5 == key { store.forget(id) }
        }
        server.letFinish()

        try await agent.reached("a.jpg", .done)

        #expect(server.finished.sorted() == [small, key].sorted())
        #expect(server.store.arrivals[small] == [1: 1])
        #expect(server.registrations == [["small.jpg"], ["a.jpg"], ["a.jpg"]])
    }
}
