import UploadCore

/// Results of requests and hashes that arrived together, as few events for the core: each event costs a decision and a
/// commit. Hashes and requests end on different threads, so the order between them means nothing.
struct WorkResults {
    private var acknowledgements: [MachineEvent] = []
    private var answers: [MachineEvent] = []
    private var hashes: [AgentEvent] = []

    /// Adds what follows from a result.
    ///
    /// - Returns: false if the steps are of another kind. They must be performed after the results before them.
    mutating func add(_ steps: [AgentStep], from news: StepRunner.News) -> Bool {
        switch news {
        case .requests(.ended), .hashed: break
        default: return false
        }
        var events: [AgentEvent] = []
        for step in steps {
            guard case .handle(let event) = step else { return false }
            events.append(event)
        }
        for event in events {
            guard case .uploads(let uploads) = event else {
                hashes.append(event)
                continue
            }
            // The log of acknowledgements spares these the wait for the disk, if they come alone.
            let isAcknowledgement = uploads.allSatisfy { if case .acknowledged = $0 { true } else { false } }
            if isAcknowledgement { acknowledgements += uploads } else { answers += uploads }
        }
        return true
    }

    /// Removes and returns the events, in batches that make one commit each.
    mutating func take() -> [[AgentEvent]] {
        var batches: [[AgentEvent]] = []
        if !acknowledgements.isEmpty { batches.append([.uploads(acknowledgements)]) }
        if !answers.isEmpty { hashes.append(.uploads(answers)) }
        if !hashes.isEmpty { batches.append(hashes) }
        self = WorkResults()
        return batches
    }
}
