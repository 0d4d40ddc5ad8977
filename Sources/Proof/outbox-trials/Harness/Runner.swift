import Foundation

/// Runs trials, prints a line for each, and removes or keeps their files.
struct Runner {
    let size: TrialContext.Size
    let seed: UInt64
    let jobs: Int
    /// Whether to keep the whole directory of a failed trial, instead of its logs and configurations only.
    let keepsFailed: Bool
    let workplace: String

    struct Tally: Equatable {
        var passed = 0
        var failed = 0
        var skipped = 0
    }

    /// Runs first the trials that tolerate others, up to `jobs` at a time and the longest first, then the remaining ones
    /// one by one.
    func run(_ trials: [any Trial]) async -> Tally {
        var tally = Tally()
        let sociable = TrialOrder.longestFirst(trials.filter { $0.company.isWelcome(in: size) })
        await withTaskGroup(of: Outcome.self) { group in
            for (index, trial) in sociable.enumerated() {
                if index >= jobs, let outcome = await group.next() { tally.add(outcome) }
                group.addTask { await run(trial) }
            }
            for await outcome in group { tally.add(outcome) }
        }
        for trial in trials where !trial.company.isWelcome(in: size) { tally.add(await run(trial)) }
        return tally
    }

    private func run(_ trial: any Trial) async -> Outcome {
        let place = "\(workplace)/\(trial.name)"
        let begun = ContinuousClock.now
        let outcome: Outcome
        if Task.isCancelled {
            outcome = .skipped("interrupted")
        } else {
            outcome = await attempt(trial, in: place)
        }
        report(trial, outcome, took: ContinuousClock.now - begun, place: place)
        return outcome
    }

    private func attempt(_ trial: any Trial, in place: String) async -> Outcome {
        do {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            return try await trial.run(TrialContext(size: size, seed: seed, name: trial.name, place: place))
        } catch {
            return .failed("the trial ended with an error", details: ["\(error)"])
        }
    }

    private func report(_ trial: any Trial, _ outcome: Outcome, took: Duration, place: String) {
        let seconds = String(format: "%.1f s", took / .seconds(1))
        let name = trial.name.padding(toLength: 6, withPad: " ", startingAt: 0)
        switch outcome {
        case .passed(let summary):
            say("\(name) passed   \(trial.title): \(summary)  \(seconds)  seed \(seed)")
            try? FileManager.default.removeItem(atPath: place)
        case .skipped(let why):
            say("\(name) skipped  \(trial.title): \(why)")
            try? FileManager.default.removeItem(atPath: place)
        case .failed(let summary, let details):
            say("\(name) FAILED   \(trial.title): \(summary)  \(seconds)  seed \(seed)")
            for detail in details.prefix(20) { say("       \(detail.replacing("\n", with: "\n       "))") }
            if details.count > 20 { say("       and \(details.count - 20) more") }
            if !keepsFailed { keepLogs(in: place) }
            say("       \(keepsFailed ? "files" : "logs") in \(place); the trial passes if: \(trial.bar)")
        }
    }

    private func keepLogs(in place: String) {
        let manager = FileManager.default
        for directory in (try? manager.contentsOfDirectory(atPath: place)) ?? [] {
            let path = "\(place)/\(directory)"
            for name in (try? manager.contentsOfDirectory(atPath: path)) ?? []
            where ![".err", ".out", "toml"].contains(String(name.suffix(4))) {
                try? manager.removeItem(atPath: "\(path)/\(name)")
            }
        }
    }

    /// Prints line by line, even if the output goes to a file.
    private func say(_ text: String) {
        FileHandle.standardOutput.write(Data("\(text)\n".utf8))
    }
}

extension Runner.Tally {
    mutating func add(_ outcome: Outcome) {
        switch outcome {
        case .passed: passed += 1
        case .failed: failed += 1
        case .skipped: skipped += 1
        }
    }
}
