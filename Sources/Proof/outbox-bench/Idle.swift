import ArgumentParser
import Glibc

/// Measures the cost of an agent that is idle after a burst of files (P8).
struct Idle {
    static let seconds: UInt32 = 10
    static let files = 1000

    func run(_ workplace: Workplace) throws -> Finding {
        note("An idle agent, for \(Self.seconds) s")
        return try workplace.withRoom("idle") { room in
            let installation = try FilledAgent(.done, Self.files, in: room, workplace).installation
            defer { installation.stop() }
            // Timers of start and uploads run out: the last one after 15 s.
            sleep(20)
            let agent = installation.agent.reading
            let switches = agent.voluntarySwitches
            let cpu = agent.cpuSeconds ?? 0
            sleep(Self.seconds)
            try installation.agent.checkRunning()
            let wakeUps = Double(agent.wakeUps(since: switches)) / Double(Self.seconds)
            let used = (agent.cpuSeconds ?? 0) - cpu
            let memory = Double(agent.memory ?? 0) / Double(1 << 20)
            return Finding(
                measure: "P8", what: "an agent that is idle after \(Self.files) files, for \(Self.seconds) s",
                figures: [
                    Finding.Figure(name: "wake-ups", value: wakeUps, unit: "/s", bar: 0),
                    Finding.Figure(name: "memory", value: memory, unit: "MiB", bar: 20),
                ], details: "CPU \(Text.milliseconds(used))", count: 0)
        }
    }
}

struct P8: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Wake-ups and memory of an idle agent.")

    @OptionGroup var options: Options

    func run() throws {
        try Report.run(options) { $1.add(try Idle().run($0)) }
    }
}
