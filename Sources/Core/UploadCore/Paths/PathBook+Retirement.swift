// Passes events about files on their way out of the outbox to `Retirement`.
extension PathBook {
    mutating func retire(_ path: RelativePath, _ event: RetirementEvent) {
        var known = Retirement.Facts(
            record: record(of: path), isUnderWay: drops[path] != nil, isHashing: hashing[path] != nil)
        if case .checked = event { known.confirmation = retirement.key(of: path).flatMap(facts.confirmation) }
        for action in retirement.handle(event, of: path, known) {
            switch action {
            case .retirement(_, .commit(let writes)), .retirement(_, .store(let writes)):
                for case .drop(let record) in writes { _ = change(record) }
            default: break
            }
            add(action)
        }
    }

    /// Whether a file is on its way out of the outbox (`intake.after_upload`), or waits for another try.
    package func isRetiring(_ path: RelativePath) -> Bool { retirement.covers(path) }
}
