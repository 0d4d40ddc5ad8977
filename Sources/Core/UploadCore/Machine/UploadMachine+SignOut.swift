// Handles signing out and signing in.
extension UploadMachine {
    mutating func setSignedOut(_ error: FileError?, now: Now) {
        guard signedOut != error else { return }
        let wasSignedOut = signedOut != nil
        signedOut = error
        if error == nil {
            for key in uploads.keys { uploads[key]?.lastProgress = now.monotonic }
            hurry(now: now)
        } else if !wasSignedOut {
            giveUpAllRequests(now: now)
        }
        actions.append(.allChanged)
    }

    /// Cancels every request and puts the affected uploads into the phase from which they can continue.
    private mutating func giveUpAllRequests(now: Now) {
        let given = requests.sorted()
        guard !given.isEmpty else { return }
        requests = RequestTable()
        lingering = SlotTable()
        var keys = Set(active.keys)
        for (_, request) in given {
            keys.formUnion(request.keys)
            putBack(request)
            if request.wasProbe { gates.abandonProbe(request.kind, now: now) }
        }
        actions.append(.cancel(given.map(\.id)))
        for key in keys.sorted() {
            uploads[key]?.inFlight = [:]
            active.setInFlight(0, of: key)
            interrupt(key)
            if case .waiting = uploads[key]?.phase { continue }
            rest(key, now: now)
        }
    }
}
