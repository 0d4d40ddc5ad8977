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
    /// The number of videos that the agent converts meanwhile, one after the other; 0: it is idle.
    var films = 0

    func run(_ workplace: Workplace) throws -> [Drop: Times] {
        try workplace.require(freeBytes: Int64(count * Self.size) * 6 + (1 << 30))
        note("\(count) drops by rename and \(count) by copy, one at a time")
        return try workplace.withRoom("latency") { room in
            let media = films > 0 ? "transcode_video = true" : ""
            let installation = try Installation(workplace.programs, in: room, media: media)
            defer { installation.stop() }
            let watch = try SidecarWatch(installation.outbox)
            let names = try (0..<films).map { try dropFilm($0, room: room, outbox: installation.outbox) }
            if let first = names.first { try untilProcessing(first, watch, installation.agent) }
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
            if films > 0, try names.allSatisfy({ try watch.isDone($0) }) {
                throw Failure("all videos were converted before the last drop; give more --films")
            }
            return times
        }
    }

    /// Puts a video into the outbox: a minute of 1920x1080, each with other bytes.
    private func dropFilm(_ number: Int, room: String, outbox: String) throws -> String {
        let name = "film-\(number).mp4"
        let path = "\(room)/\(name)"
        try TestVideo.make(path, seconds: 60, seed: number)
        guard rename(path, "\(outbox)/\(name)") == 0 else { throw Failure.system(outbox) }
        return name
    }

    private func untilProcessing(
        _ name: String, _ watch: borrowing SidecarWatch, _ agent: ChildProcess
    ) throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while watch.state(of: name) != "processing" {
            try agent.checkRunning()
            guard ContinuousClock.now < deadline else { throw Failure("\(name) was not processed within 60 s") }
            usleep(10_000)
        }
    }

    /// Returns the requested findings of P5 and P6.
    func findings(_ times: [Drop: Times], _ measures: Set<String>) -> [Finding] {
        var findings: [Finding] = []
        for drop in Drop.allCases {
            guard let times = times[drop] else { continue }
            let agent = films > 0 ? "an agent that converts videos" : "idle agent"
            let how = "by \(drop), \(Self.size >> 10) KiB, \(agent)"
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
    @Option(help: "How many videos of a minute the agent converts meanwhile.") var films = 0

    func validate() throws {
        guard count > 0, films >= 0 else { throw ValidationError("--count must be positive, --films not negative") }
    }

    func run() throws {
        let measure = Latency(count: count, films: films)
        try Report.run(options) { workplace, report in
            measure.findings(try measure.run(workplace), ["P6"]).forEach { report.add($0) }
        }
    }
}
