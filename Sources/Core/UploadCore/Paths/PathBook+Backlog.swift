// Holds no records of the backlog: paths that wait for uploads that the upload machine does not hold.
extension PathBook {
    /// Holds the record of a path whose upload the upload machine holds from now on.
    package mutating func bringIn(_ record: DropRecord) {
        if drops[record.path] == nil, !record.state.isFinal { drops[record.path] = record }
    }

    /// Updates the record of a path because more is known of its content. Does not begin to hold the path.
    ///
    /// - Returns: the change to the ledger.
    package mutating func update(_ record: DropRecord) -> LedgerWrite {
        let isHeld = drops[record.path] != nil
        let write = keep(record)
        if !isHeld { drops[record.path] = nil }
        return write
    }

    /// Leaves paths to the ledger because the upload machine no longer holds the upload they wait for.
    package mutating func leaveToLedger(_ paths: [RelativePath], waitingFor key: ContentKey) {
        for path in paths where drops[path]?.key == key { leaveToLedger(path) }
    }

    private mutating func leaveToLedger(_ path: RelativePath) {
        guard let record = drops[path], record.state == .queued, !isPortrait(path),
            !ownership.isParked(record.account)
        else { return }
        drops[path] = nil
    }

    /// Holds the record of a path of the backlog until the event has passed.
    mutating func visit(_ path: RelativePath) {
        guard drops[path] == nil, let record = storedRecord(of: path), !record.state.isFinal else { return }
        drops[path] = record
        visitors.insert(path)
    }

    /// Leaves the paths of the backlog to the ledger again, except those whose records changed: the upload machine holds
    /// their uploads from now on.
    mutating func endVisits() {
        for path in visitors where changes[path] == nil {
            if let key = drops[path]?.key, !facts.isHeld(key) { leaveToLedger(path) }
        }
        visitors = []
    }
}

extension PathEvent {
    /// The paths that the event names.
    package var paths: [RelativePath] {
        switch self {
        case .seen(let path), .ready(let path, _, _), .odd(let path, _, _), .unreadable(let path, _, _),
            .gone(let path), .hashing(let path, _, _), .stalled(let path, _, _), .processing(let path, _, _),
            .hashed(let path, _, _, _),
            .measured(let path, _, _),
            .act(_, let path, _), .retry(let path), .lookAgain(let path), .removed(let path), .strayFound(let path),
            .forget(let path), .giveUp(let path, _), .verify(let path), .portrait(let path, _, _),
            .retirement(let path, _):
            [path]
        case .renamed(let old, let new): [old, new]
        case .scanned, .compared, .mountLost, .mounted, .outboxLost, .outboxBack, .descriptionMissing,
            .descriptionFound, .tick:
            []
        }
    }
}
