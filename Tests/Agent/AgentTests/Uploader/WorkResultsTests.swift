import Testing
import UploadCore

@testable import Agent

@Suite("Results of work that arrive together")
struct WorkResultsTests {
    private let key = ContentKey(high: 1, low: 2)

    private func acknowledged(_ id: RequestID) -> MachineEvent {
        .acknowledged(id, key, fragment: 0, receipt: nil, took: .zero)
    }

    private func ended(_ id: RequestID, _ event: MachineEvent) -> (StepRunner.News, [AgentStep]) {
        (.requests(.ended(id, [event], wasSending: false)), [.uploads([event])])
    }

    /// Describes batches by their events.
    private func describe(_ batches: [[AgentEvent]]) -> [[String]] {
        batches.map { batch in
            batch.map { event in
                switch event {
                case .uploads(let events): "\(events.count) for the machine"
                case .path(.hashed): "hashed"
                default: "other"
                }
            }
        }
    }

    @Test("acknowledgements make a batch of their own, everything else another one")
    func batches() throws {
        let path = try #require(RelativePath("a"))
        let identity = FileIdentity(device: 1, inode: 1, size: 1, modified: 1, changed: 1, born: 1)
        var results = WorkResults()
        for (news, steps) in [
            ended(1, acknowledged(1)), ended(2, .removed(2)),
            (
                .hashed(path, identity, job: 1, .missing),
                [.path(.hashed(path, job: 1, as: identity, .missing))]
            ), ended(3, acknowledged(3)), ended(4, .removed(4)),
        ] as [(StepRunner.News, [AgentStep])] {
            let isTaken = results.add(steps, from: news)
            #expect(isTaken)
        }
        let batches = [results.take(), results.take()].map(describe)
        #expect(batches == [[["2 for the machine"], ["hashed", "2 for the machine"]], []])
    }

    @Test("news of another kind, and steps that are no events, are left to the caller")
    func others() throws {
        var results = WorkResults()
        let areTaken = [
            results.add([.catchUp], from: .catchUp),
            results.add([.uploads([.tick]), .catchUp], from: .requests(.ended(1, [.tick], wasSending: false))),
        ]
        #expect(areTaken == [false, false])
        let batches = results.take()
        #expect(describe(batches) == [])
    }
}
