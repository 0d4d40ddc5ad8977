import ControlAPI
import FileWatch
import Ledger
import LinuxSystem
import Logging
import Reports
import Session
import UploadCore

extension Uploader: ControlBackend {
    func health() async -> AgentHealth {
        let recent = status.recentCounts(at: now.monotonic)
        let counts = if let recent { recent } else { status.storeCounts(await countFiles(), at: now.monotonic) }
        var figures = figures(files: counts)
        figures.token = parts.session.origin
        return status.health(figures, at: now.monotonic)
    }

    func metrics() async -> AgentMetrics {
        var figures = figures(files: await countFiles())
        figures.watch = watchCounters()
        figures.ledger = try? parts.ledger.statistics()
        return status.metrics(figures, at: now.monotonic)
    }

    /// Returns the agent's state in one line. Runs on the uploader's own thread: if the uploader hangs, no answer
    /// comes and the watchdog fires.
    func statusLine() -> String {
        var counts: [FileState: Int] = [:]
        for record in book.drops.values {
            var state = record.state
            if let key = record.key, let view = machine.view(of: key, from: record.path) { state = view.state }
            counts[state, default: 0] += 1
        }
        return status.line(figures(files: counts))
    }

    private func figures(files: [FileState: Int]) -> AgentStatus.Figures {
        AgentStatus.Figures(
            files: files, active: book.drops.count, uploads: machine.keys.count, requestsInFlight: runner.count,
            hashQueue: book.hashCount,
            bytesPerSecond: runner.bytesPerSecond,
            isPaused: machine.isPaused, hasScanned: book.hasScanned, account: parts.session.account.name)
    }

    /// Counts the paths in each state.
    private func countFiles() async -> [FileState: Int] {
        var counts: [FileState: Int] = [:]
        for record in book.drops.values { counts[makeReport(record).state, default: 0] += 1 }
        let ended = endedDrops
        return counts.merging(await onReader { ended.counts() }) { $0 + $1 }
    }

    private var endedDrops: EndedDrops { EndedDrops(parts.ledger, unsaved: unsaved, active: book.drops) }

    func files(in states: Set<FileState>?) async -> [FileReport] {
        var reports = book.drops.values.map(makeReport)
        if states?.contains(where: \.isFinal) != false {
            reports += await onReader { [ended = endedDrops, context = reportContext] in
                var reports: [FileReport] = []
                ended.forEach { reports.append(context.report($0)) }
                return reports
            }
        }
        if let states { reports.removeAll { !states.contains($0.state) } }
        if !posts.isEmpty {
            for index in reports.indices {
                reports[index].source = reports[index].source ?? sourceID(of: reports[index].path)
            }
        }
        return reports.sorted { $0.path < $1.path }
    }

    /// Runs work that only reads the ledger, without blocking the uploader.
    func onReader<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            reader.run { continuation.resume(returning: work()) }
        }
    }

    func file(id: String) async -> FileReport? {
        guard let record = path(withID: id).flatMap(record) else { return nil }
        // Somebody asked for the path under which the file was dropped.
        if case .movedAway(let target) = record.disposal, let moved = report(at: target) { return moved }
        return makeReport(record)
    }

    func files(of key: ContentKey) async -> [FileReport] {
        let stored = (try? parts.ledger.drops(of: key)) ?? []
        let paths = Set(book.drops.values.filter { $0.key == key }.map(\.path)).union(stored)
        return paths.compactMap(record).filter { $0.key == key && !$0.isTrace }.map(makeReport).sorted {
            $0.path < $1.path
        }
    }
}
