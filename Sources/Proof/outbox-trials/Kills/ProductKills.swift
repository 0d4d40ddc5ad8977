import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// R30: kills the agent while it compresses pictures, at the steps that store a product and at random moments.
struct ProductKills: Trial {
    let name = "R30"
    let title = "agent killed while it processes files"
    let bar = "0 lost; the server gets each picture once and whole; a kill costs at most the products under way"

    private typealias Rule = FaultBoard.Rule

    /// The calls at which the agent is killed; the number of the call is random.
    private let steps: [(functions: [String], pattern: String)] = [
        (["create"], "*/state/products*"), (["fsync", "fdatasync"], "*/state/products*"),
        (["unlink"], "*/state/products*"), (["mdb_txn_commit"], "*"), (["curl_multi_add_handle"], "*"),
    ]
    /// How many pictures an agent processes at once, at most.
    private let slots = Int(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    func run(_ context: TrialContext) async throws -> Outcome {
        let kills = context.count(quick: 5, usual: 40, long: 200)
        let pictures = max(20, kills * 3)
        var random = context.random
        let receiver = try await context.receiver()
        let agent = try context.agent(remote: receiver.url, ["media.compress_images": true])
        let usual = agent.environment
        let board = try FaultBoard(in: context.place)
        var findings = Findings()

        try await agent.start()
        try agent.drop("probe.png", NumberedPicture(0).png)
        let probe = try await agent.reached("probe.png", .done, timeout: context.patience)
        guard let product = probe.product, product.key != nil else {
            return .skipped("pictures can't be compressed here: \(probe.product?.error ?? "no product")")
        }
        try await agent.stop()

        var dropped = 0
        var made = 0
        for kill in 1...kills {
            let step = steps.randomElement(using: &random)
            agent.environment = usual
            // Two of three kills happen at a step, the others at a random moment.
            if let step, kill % 3 != 0 {
                let call = Int.random(in: 1...8, using: &random)
                let action: Rule.Action = Bool.random(using: &random) ? .killBefore : .killAfter
                let rule = Rule(action, step.functions, calls: call...call, of: step.pattern)
                agent.environment = usual.merging(board.environment([rule])) { $1 }
            }
            try agent.launch()
            let portion = (pictures - dropped + kills - kill) / (kills - kill + 1)
            for _ in 0..<portion {
                dropped += 1
                try agent.drop("\(dropped).png", NumberedPicture(dropped).png)
            }
            // Most kills come from the board, so the count is read all the time.
            let end = ContinuousClock.now + .milliseconds(Int.random(in: 50...900, using: &random))
            var count = 0
            while ContinuousClock.now < end {
                count = max(count, productsMade(agent))
                try await Task.sleep(for: .milliseconds(5))
            }
            made += count
            try await agent.kill()
        }
        agent.environment = usual
        try await agent.start()
        for number in 1...dropped {
            let sidecar = try await agent.reached("\(number).png", .done, timeout: context.patience)
            findings.expect(sidecar.product?.key != nil, "\(number).png was sent as it is: \(sidecar.brief)")
        }
        made += productsMade(agent)
        let numbers = numbers(in: receiver)
        findings.expect(
            numbers == Array(0...dropped), "the server has \(numbers) instead of each number up to \(dropped) once")
        // A number is read a moment before its kill, so some products are not counted.
        let most = dropped + kills * slots
        findings.expect(made <= most, "\(made) products were made of \(dropped) pictures, at most \(most) expected")
        try await Poll.until("the products to be removed") {
            let left = try? FileManager.default.contentsOfDirectory(atPath: "\(agent.state)/products")
            return left?.allSatisfy { $0.hasPrefix(".") } ?? true
        }
        try await agent.stop()
        return findings.outcome("\(kills) kills, \(dropped) pictures, each stored once; \(made) products made")
    }

    /// The number of products that the present run made.
    private func productsMade(_ agent: Agent) -> Int {
        let answer = ControlSocket.get("/metrics", socket: agent.socket)
        let lines = String(decoding: answer?.body ?? Data(), as: UTF8.self).split(separator: "\n")
        let line = lines.first { $0.hasPrefix("outbox_products_total ") }
        return line?.split(separator: " ").last.flatMap { Double($0) }.map { Int($0) } ?? 0
    }

    /// The numbers of all pictures that the server has, -1 for an object that is no complete JPEG.
    private func numbers(in receiver: Receiver) -> [Int] {
        let tree = "\(receiver.root)/objects"
        return Files.regularFiles(tree).map { name in
            let bytes = FileManager.default.contents(atPath: "\(tree)/\(name)").map(Array.init) ?? []
            return NumberedPicture(jpeg: bytes)?.number ?? -1
        }.sorted()
    }
}
