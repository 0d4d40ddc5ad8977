import UploadCore

extension Uploader: ControlBackend {
    func health() async -> AgentHealth {
        AgentHealth(
            pid: parts.processID, version: parts.version,
            uptime: UInt64(max(0, (now.monotonic - startedAt).components.seconds)), paused: machine.isPaused,
            scanned: hasScanned, active: drops.count, problems: problems.sorted { $0.key < $1.key }.map(\.value))
    }

    func files(in states: Set<FileState>?) async -> [FileReport] {
        var reports = drops.values.map(makeReport)
        forEachStoredDrop { record in
            if drops[record.path] == nil { reports.append(makeReport(record)) }
        }
        if let states { reports.removeAll { !states.contains($0.state) } }
        return reports.sorted { $0.path < $1.path }
    }

    func file(id: String) async -> FileReport? {
        if let record = drops.values.first(where: { FileReport.id(of: $0.path) == id }) { return makeReport(record) }
        var found: FileReport?
        forEachStoredDrop { record in
            if found == nil, FileReport.id(of: record.path) == id { found = makeReport(record) }
        }
        return found
    }
}
