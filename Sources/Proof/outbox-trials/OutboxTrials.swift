import ArgumentParser
import Dispatch
import Foundation
import Glibc
import TestSupport
import Versions

/// Shows that the agent loses nothing: exposes the agent to faults, and judges only by what is visible from outside.
@main
struct OutboxTrials: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox-trials",
        abstract: "Trials of the built programs: kills, bad servers, odd writers, full disks.",
        version: ProgramVersion.current)

    @Option(help: "Run only these trials, for example R5,R9.") var only: String?
    @Option(help: "The seed of all random choices. To repeat a failed run, give the seed that it printed.") var seed:
        UInt64?
    @Option(help: "The directory of the programs (default: beside this program).") var bin: String?
    @Option(help: "How many trials run at a time.") var jobs = 2
    @Flag(help: "Use the smallest counts: about two minutes.") var quick = false
    @Flag(help: "Use the full counts: hours.") var long = false
    @Flag(help: "List the trials and run none.") var list = false
    @Flag(help: "Keep every file of a failed trial, not only its logs.") var keep = false

    mutating func validate() throws {
        if quick && long { throw ValidationError("give --quick or --long, not both") }
        if jobs < 1 { throw ValidationError("--jobs must be at least 1") }
        _ = try chosen()
    }

    private func chosen() throws -> [any Trial] {
        guard let only else { return Catalogue.trials }
        let names = only.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).uppercased() }
        let known = Set(Catalogue.trials.map(\.name))
        if let unknown = names.first(where: { !known.contains($0) }) {
            throw ValidationError("there is no trial \(unknown); --list prints all trials")
        }
        return Catalogue.trials.filter { names.contains($0.name) }
    }

    func run() async throws {
        let trials = try chosen()
        if list {
            for trial in trials { print("\(trial.name)\t\(trial.title)\t\(trial.bar)") }
            return
        }
        if let bin { setenv("OUTBOX_BIN_DIR", URL(fileURLWithPath: bin).path, 1) }
        for program in ["outbox", "outbox-receiver"] { _ = try Program.path(of: program) }
        signal(SIGPIPE, SIG_IGN)

        let temporary = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        let runner = Runner(
            size: long ? .long : quick ? .quick : .usual, seed: seed ?? .random(in: 1..<1_000_000_000), jobs: jobs,
            keepsFailed: keep, workplace: try TemporaryDirectory(prefix: "outbox-trials", in: temporary).path)
        let begun = ContinuousClock.now
        let work = Task { await runner.run(trials) }
        let interrupts = Self.cancelling(work)
        let tally = await work.value
        for source in interrupts { source.cancel() }

        let seconds = Int((ContinuousClock.now - begun) / .seconds(1))
        print("\(tally.passed) passed, \(tally.failed) failed, \(tally.skipped) skipped in \(seconds) s")
        if tally.failed == 0 { try? FileManager.default.removeItem(atPath: runner.workplace) }
        if tally.failed > 0 { throw ExitCode(1) }
    }

    /// Ctrl-C cancels the trials, not this program, which must still stop the programs of the trials.
    private static func cancelling(_ work: Task<Runner.Tally, Never>) -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { work.cancel() }
            source.resume()
            return source
        }
    }
}
