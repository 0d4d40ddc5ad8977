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
        AgentHealth(
            pid: parts.processID, version: parts.version,
            uptime: UInt64(max(0, (now.monotonic - startedAt).components.seconds)), paused: machine.isPaused,
            scanned: book.hasScanned, active: book.drops.count,
            problems: problems.sorted { $0.key < $1.key }.map(\.value),
            files: await recentCounts(), token: parts.credentials.origin?.rawValue,
            account: parts.account.name)
    }

    func files(in states: Set<FileState>?) async -> [FileReport] {
        var reports = book.drops.values.map(makeReport)
        if states?.contains(where: \.isFinal) != false { reports += await endedReports() }
        if let states { reports.removeAll { !states.contains($0.state) } }
        if !sources.isEmpty {
            for index in reports.indices {
                reports[index].source = reports[index].source ?? sourceID(of: reports[index].path)
            }
        }
        return reports.sorted { $0.path < $1.path }
    }

    /// Reports the paths in final states. Runs on a separate thread: there may be a million paths, and uploads
    /// continue meanwhile.
    private func endedReports() async -> [FileReport] {
        let active = Set(book.drops.keys)
        let recent = unsaved.records.filter { $0.state.isFinal && !$0.isTrace && !active.contains($0.path) }
        let covered = active.union(recent.map(\.path)).union(unsaved.forgotten)
        let context = reportContext
        let stored = await onReader { [ledger = parts.ledger] in
            var reports: [FileReport] = []
            try? ledger.forEachDrop { record in
                if record.state.isFinal && !record.isTrace && !covered.contains(record.path) {
                    reports.append(context.report(record))
                }
                return true
            }
            return reports
        }
        return stored + recent.map(context.report)
    }

    /// Counts the paths in each final state. The result may be some seconds old, since watching clients ask ten
    /// times a second.
    private func recentCounts() async -> [String: Int] {
        if let counted, now.monotonic - counted.at < .seconds(5) { return counted.files }
        let files = await countFiles().filter(\.key.isFinal).map { ($0.key.rawValue, $0.value) }
        let counts = Dictionary(uniqueKeysWithValues: files)
        counted = (now.monotonic, counts)
        return counts
    }

    /// Counts the paths in each state.
    private func countFiles() async -> [FileState: Int] {
        var counts: [FileState: Int] = [:]
        for record in book.drops.values { counts[makeReport(record).state, default: 0] += 1 }
        let covered = Set(book.drops.keys).union(unsaved.records.map(\.path)).union(unsaved.forgotten)
        for record in unsaved.records where record.state.isFinal && !record.isTrace && book.drops[record.path] == nil {
            counts[record.state, default: 0] += 1
        }
        let stored = await onReader { [ledger = parts.ledger] in
            var counts: [FileState: Int] = [:]
            try? ledger.forEachDrop { record in
                if record.state.isFinal && !record.isTrace && !covered.contains(record.path) {
                    counts[record.state, default: 0] += 1
                }
                return true
            }
            return counts
        }
        return counts.merging(stored) { $0 + $1 }
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

    func metrics() async -> AgentMetrics {
        var metrics = AgentMetrics()
        metrics.files = await countFiles()
        metrics.uploads = machine.keys.count
        metrics.requestsInFlight = requests.count
        metrics.fragmentsInFlight = counters.fragmentsInFlight
        metrics.bytesAcknowledged = counters.bytesAcknowledged
        metrics.fragmentsSent = counters.fragmentsSent
        metrics.fragmentsAcknowledged = counters.fragmentsAcknowledged
        metrics.fragmentsFailed = counters.fragmentsFailed
        metrics.retries = counters.retries
        metrics.uploadsDone = counters.uploadsDone
        metrics.uploadsFailed = counters.uploadsFailed
        metrics.bytesHashed = counters.bytesHashed
        metrics.hashQueue = book.hashCount
        metrics.ledgerCommitTroubles = counters.commitTroubles
        let watch = watchCounters()
        metrics.watches = watch.watches
        metrics.polledDirectories = watch.polled.values.reduce(0, +)
        metrics.eventOverflows = watch.overflows
        metrics.scans = watch.fullScans
        metrics.lastScan = watch.lastScan?.duration
        if let ledger = try? parts.ledger.statistics() {
            metrics.ledgerBytes = UInt64(ledger.fileSize)
            metrics.ledgerEntries = ledger.entries[.drops] ?? 0
        }
        metrics.problems = Set(problems.keys)
        metrics.isPaused = machine.isPaused
        metrics.uptime = now.monotonic - startedAt
        metrics.version = parts.version
        return metrics
    }
}
