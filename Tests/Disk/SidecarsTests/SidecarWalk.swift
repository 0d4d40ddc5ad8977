import AgentTestSupport
import TestSupport
import UploadCore

@testable import Reports
@testable import Sidecars

/// A random life of a few sidecars, with a disk that fails at times.
struct SidecarWalk {
    private enum Wish: Equatable {
        case shows(attempt: Int, isFinal: Bool)
        case isRemoved
    }

    private static let states: [FileState] = [
        .settling, .hashing, .queued, .uploading, .verifying, .waiting, .paused, .done, .failed, .cancelled,
    ]

    private let paths: [RelativePath]
    private var random: SeededRandom
    private var now = MonotonicTime(nanoseconds: 1_000_000_000)
    private var queue = SidecarQueue()
    private var serial = 0
    /// The newest order of each path.
    private var wishes: [RelativePath: Wish] = [:]
    /// The number of the report in each sidecar.
    private var disk: [RelativePath: Int] = [:]
    /// Numbers of the reports that could not be written.
    private var failed: Set<Int> = []
    private(set) var faults: [String] = []

    init(seed: UInt64, paths: [RelativePath]) {
        self.paths = paths
        random = SeededRandom(seed: seed)
    }

    mutating func step() {
        guard let path = paths.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<10: report(path)
        case 10..<12: order(.remove, for: path, .isRemoved)
        case 12..<18: now = now + .milliseconds(Int.random(in: 1...400, using: &random))
        case 18: queue.stall(now: now)
        default: now = now + .seconds(Int.random(in: 1...5, using: &random))
        }
        if Bool.random(using: &random) { drain(failures: 0.2) }
    }

    /// Lets time pass with a good disk, and compares.
    mutating func finish() {
        for _ in 0..<100 {
            now = now + .milliseconds(100)
            drain(failures: 0)
        }
        for (path, wish) in wishes {
            switch wish {
            case .isRemoved: if disk[path] != nil { faults.append("\(path) has a sidecar") }
            case .shows(let attempt, _): if disk[path] != attempt { faults.append("\(path) shows an old report") }
            }
        }
        if queue.nextDeadline != nil { faults.append("something is still due") }
    }

    private mutating func report(_ path: RelativePath) {
        serial += 1
        guard let state = Self.states.randomElement(using: &random) else { return }
        var report = FileReport.seen(path, state)
        report.attempts = serial
        order(.write(.file(report)), for: path, .shows(attempt: serial, isFinal: state.isFinal))
    }

    private mutating func order(_ order: SidecarOrder, for path: RelativePath, _ wish: Wish) {
        wishes[path] = wish
        queue.add(order, for: .file(path), now: now)
    }

    private mutating func drain(failures: Double) {
        while let job = queue.next(now: now) {
            guard case .file(let path) = job.subject else { continue }
            switch job.order {
            case .remove:
                if wishes[path] != .isRemoved { faults.append("\(path) is removed after a report") }
                disk[path] = nil
            case .write(let sidecar):
                guard case .file(let report) = sidecar else { continue }
                if wishes[path] != .shows(attempt: report.attempts, isFinal: report.state.isFinal) {
                    faults.append("\(path) is written, but there is a newer order")
                }
                // A report may arrive during the write.
                if Int.random(in: 0..<10, using: &random) == 0 { self.report(path) }
                if Double.random(in: 0..<1, using: &random) < failures {
                    failed.insert(report.attempts)
                    queue.failed(sidecar, now: now)
                } else {
                    disk[path] = report.attempts
                    queue.wrote(sidecar, digest: report.attempts, now: now)
                }
            case .repair, .discard: break
            }
        }
        for (path, wish) in wishes {
            guard case .shows(let attempt, isFinal: true) = wish, disk[path] != attempt else { continue }
            if !failed.contains(attempt) { faults.append("\(path) waits with a final state") }
        }
    }
}
