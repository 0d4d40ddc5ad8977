import Testing
import UploadCore

@testable import Agent

@Suite("Commit order")
struct CommitOrderTests {
    private let one = ContentKey(high: 1, low: 0)
    private let two = ContentKey(high: 2, low: 0)

    private func send(_ key: ContentKey) -> AgentStep { .request(.send(1, key, fragment: 0, skip: 0)) }

    @Test("holds nothing back while no commit is in progress")
    func idle() {
        let order = CommitOrder()
        #expect(order.isIdle)
        #expect(order.isReady(.request(.register(1, [one]))))
        #expect(order.isReady(send(one)))
    }

    @Test("holds back fragments of the uploads that a commit changes, and no others")
    func fragments() {
        var order = CommitOrder()
        order.begin([.forgetFragments(one)])
        #expect(!order.isReady(send(one)))
        #expect(order.isReady(send(two)))
        #expect(!order.isReady(.request(.finish(1, [two, one]))))
        #expect(order.isReady(.request(.finish(1, [two]))))
    }

    @Test("waits for the last of several commits that change an upload")
    func several() {
        var order = CommitOrder()
        order.begin([.forgetFragments(one)])
        order.begin([.forgetFragments(one), .forgetUpload(two)])
        order.end([.forgetFragments(one)])
        #expect(!order.isReady(send(one)))
        order.end([.forgetFragments(one), .forgetUpload(two)])
        #expect(order.isReady(send(one)))
        #expect(order.isIdle)
    }

    @Test("has commits aside until the last one ends")
    func aside() {
        var order = CommitOrder()
        order.begin([], isAside: true)
        order.begin([], isAside: true)
        #expect(order.isIdle)
        let isFirstLast = order.end([], isAside: true)
        #expect(!isFirstLast && order.hasAside)
        let isSecondLast = order.end([], isAside: true)
        #expect(isSecondLast && !order.hasAside)
    }

    @Test("holds back external effects until the commit is durable, and lets reports through")
    func kinds() throws {
        let path = try #require(RelativePath("a.jpg"))
        var order = CommitOrder()
        order.begin([])
        let requests: [MachineAction] = [
            .register(1, [one]), .resume(1, one), .remove(1, [RemoteHandle(id: "x")]), .cancel([1]),
        ]
        let held = requests.map(AgentStep.request) + [.takeAgain(path, one), .retire(path), .path(.lookAgain(path))]
        for step in held { #expect(!order.isReady(step), "\(step)") }
        let ready =
            [.report([path]), .reportUploads([one]), .reportAllUploads]
            + SessionSteps.serverTrouble(nil, usesKeys: false)
        for step in ready { #expect(order.isReady(step), "\(step)") }
    }

    @Test("splits steps into those that are ready and those that wait, in order")
    func split() {
        var order = CommitOrder()
        order.begin([.forgetFragments(one)])
        let register = AgentStep.request(.register(1, [two]))
        let (ready, waiting) = order.split([register, send(two), send(one), .reportAllUploads])
        #expect(ready.map { "\($0)" } == ["\(send(two))", "reportAllUploads"])
        #expect(waiting.map { "\($0)" } == ["\(register)", "\(send(one))"])
    }

    @Test("holds nothing back for commits aside, and names the last one")
    func quiet() {
        var order = CommitOrder()
        order.begin([.forgetFragments(one)], isAside: true)
        order.begin([], isAside: true)
        #expect(order.isIdle)
        #expect(order.isReady(send(one)))
        let ends = [order.end([.forgetFragments(one)], isAside: true), order.end([], isAside: true)]
        #expect(ends == [false, true])
    }
}
