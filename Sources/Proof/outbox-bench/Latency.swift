import ArgumentParser
import Glibc
import SystemPackage

/// Measures a small file dropped on an idle agent: the time until its sidecar exists (P5), and until the upload is
/// done (P6).
struct Latency {
    /// The two ways a file gets into the outbox.
    enum Drop: String, CaseIterable {
        case rename, copy
    }

    /// Seconds since the file was complete.
    struct Times {
        var sidecar: [Double] = []
        var done: [Double] = []
    }

    static let size = 100 << 10

    let count: Int

    func run(_ workplace: Workplace) throws -> [Drop: Times] {
        try workplace.require(freeBytes: Int64(count * Self.size) * 6 + (1 << 30))
        note("\(count) drops by rename and \(count) by copy, one at a time")
        return try workplace.withRoom("latency") { room in
            let installation = try Installation(workplace.programs, in: room)
            defer { installation.stop() }
            let watch = try SidecarWatch(installation.outbox)
            var bytes = RandomBytes(seed: 5)
            var times: [Drop: Times] = [:]
            for number in 0..<count {
                for drop in Drop.allCases {
                    let name = "\(drop)-\(number).jpg"
                    let start = try self.drop(drop, name, room: room, outbox: installation.outbox, &bytes)
                    let (sidecar, done) = try follow(name, since: start, watch, installation.agent)
                    times[drop, default: Times()].sidecar.append(sidecar)
                    times[drop, default: Times()].done.append(done)
                }
            }
            return times
        }
    }

    /// Returns the requested findings of P5 and P6.
    func findings(_ times: [Drop: Times], _ measures: Set<String>) -> [Finding] {
        var findings: [Finding] = []
        for drop in Drop.allCases {
            guard let times = times[drop] else { continue }
            let how = "by \(drop), \(Self.size >> 10) KiB, idle agent"
            findings.append(
                Finding(
                    measure: "P5", what: "drop → sidecar, \(how)",
                    figures: [
                        milliseconds("p50", times.sidecar.median, bar: 5),
                        milliseconds("p99", times.sidecar.percentile(0.99), bar: 25),
                    ], details: "", count: count, counted: "drops"))
            findings.append(
                Finding(
                    measure: "P6", what: "drop → done, \(how)",
                    figures: [
                        milliseconds("p50", times.done.median, bar: Installation.settle * 1000 + 20),
                        milliseconds("p99", times.done.percentile(0.99), bar: nil),
                    ], details: "", count: count, counted: "drops"))
        }
        return findings.filter { measures.contains($0.measure) }
    }

    private func milliseconds(_ name: String, _ seconds: Double, bar: Double?) -> Finding.Figure {
        Finding.Figure(name: name, value: seconds * 1000, unit: "ms", bar: bar)
    }

    /// Puts a new picture into the outbox.
    ///
    /// - Returns: The time before the call that completed the file in the outbox.
    private func drop(
        _ drop: Drop, _ name: String, room: String, outbox: String, _ bytes: inout RandomBytes
    ) throws -> ContinuousClock.Instant {
        let destination = "\(outbox)/\(name)"
        let path = drop == .rename ? "\(room)/\(name)" : destination
        let file = try FileDescriptor.open(
            path, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec], permissions: .ownerReadWrite)
        do {
            try bytes.write(to: file, start: TestFiles.jpegStart, count: Self.size)
        } catch {
            try? file.close()
            throw error
        }
        let closing = ContinuousClock.now
        try file.close()
        guard drop == .rename else { return closing }
        let renaming = ContinuousClock.now
        guard rename(path, destination) == 0 else { throw Failure.system(destination) }
        return renaming
    }

    /// Waits until the file is done, and briefly longer, until the agent is idle again.
    private func follow(
        _ name: String, since start: ContinuousClock.Instant, _ watch: borrowing SidecarWatch, _ agent: ChildProcess
    ) throws -> (sidecar: Double, done: Double) {
        var sidecar: Double?
        while start.secondsAgo < 60 {
            try agent.checkRunning()
            guard try watch.next()?.contains(name) ?? true else { continue }
            let now = start.secondsAgo
            sidecar = sidecar ?? now
            if try watch.isDone(name) {
                usleep(50_000)
                return (sidecar ?? now, now)
            }
        }
        throw Failure("\(name) was not done within 60 s")
    }
}

struct P5: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Time from a drop to its sidecar, with an idle agent.")

    @OptionGroup var options: Options
    @Option(help: "How many drops of each kind.") var count = 200

    func run() throws {
        let measure = Latency(count: count)
        try Report.run(options) { workplace, report in
            measure.findings(try measure.run(workplace), ["P5"]).forEach { report.add($0) }
        }
    }
}

struct P6: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Time from the drop of a small file to `done`.")

    @OptionGroup var options: Options
    @Option(help: "How many drops of each kind.") var count = 200

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count must be positive") }
    }

    func run() throws {
        let measure = Latency(count: count)
        try Report.run(options) { workplace, report in
            measure.findings(try measure.run(workplace), ["P6"]).forEach { report.add($0) }
        }
    }
}
