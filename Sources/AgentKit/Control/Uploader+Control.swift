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

    func files(of key: ContentKey) async -> [FileReport] {
        await files(in: nil).filter { $0.key == key }
    }

    func perform(_ action: FileAction, on target: ActionTarget) async -> ActionAnswer? {
        let files: [FileReport]
        switch target {
        case .file(let id): files = [await file(id: id)].compactMap(\.self)
        case .upload(let key): files = await self.files(of: key)
        case .all: return ActionAnswer()
        }
        guard !files.isEmpty else { return nil }
        return ActionAnswer(unchanged: files.map { .init(file: $0, reason: "\(action.rawValue) is not built yet") })
    }

    func prune() async -> PruneReport { PruneReport() }

    func signIn(token: String, user: String?) async throws(SessionError) {
        throw .inputOutput(path: "token", reason: "storing it is not built yet")
    }

    func signOut() async throws(SessionError) {
        throw .inputOutput(path: "token", reason: "removing it is not built yet")
    }

    func metrics() async -> AgentMetrics {
        var metrics = AgentMetrics()
        for report in await files(in: nil) { metrics.files[report.state, default: 0] += 1 }
        metrics.problems = Set(problems.keys)
        metrics.isPaused = machine.isPaused
        metrics.uptime = now.monotonic - startedAt
        metrics.version = parts.version
        return metrics
    }
}
