import AgentKit

/// `status --watch`: shows changes until it is interrupted.
struct StatusWatch {
    private let link: AgentLink
    private let names: [String]
    private let json: Bool
    private var display: ProgressDisplay
    private var states: [String: String]?
    private var lastReport: StatusReport?

    init(link: AgentLink, names: [String], json: Bool) {
        self.link = link
        self.names = names
        self.json = json
        display = ProgressDisplay(output: json ? nil : .standard, environment: link.surroundings.environment)
    }

    /// Returns after Ctrl-C.
    ///
    /// - Throws: `ControlError.notRunning` when the agent ends.
    mutating func run() async throws {
        let interruption = Interruption()
        defer { display.clear() }
        var pace = PollPace()
        while interruption.signal == nil {
            pace.ask()
            let snapshot = try await Snapshot.running(link)
            let files = names.isEmpty ? snapshot.files : try snapshot.files(named: names, link)
            if json { try write(snapshot.report(files)) } else { try show(files) }
            try await pace.rest()
        }
    }

    private mutating func write(_ report: StatusReport) throws {
        guard report != lastReport else { return }
        try Output.standard.write(json: report)
        lastReport = report
    }

    private mutating func show(_ files: [FileEntry]) throws {
        let known = states ?? [:]
        // What had ended before is told by the last line alone, unless it was asked for by name.
        let changed = files.filter { file in
            known[file.id] != file.state && (states != nil || !file.isFinal || !names.isEmpty)
        }
        states = Dictionary(files.map { ($0.id, $0.state) }) { $1 }
        let look = display.look
        try display.show(
            files, moved: changed.filter { !$0.isFinal }, ended: changed.filter(\.isFinal).map { $0.outcomeLine(look) },
            last: { look, _ in FilesSummary(files).line(look) })
    }
}
