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
        let given = requests.sorted { $0.key < $1.key }
        guard !given.isEmpty else { return }
        requests = [:]
        lingering = []
        var keys = Set(active)
        for (_, request) in given {
            keys.formUnion(request.keys)
            putBack(request)
            if request.wasProbe { gates.abandonProbe(request.kind, now: now) }
        }
        actions.append(.cancel(given.map(\.key)))
        for key in keys.sorted() {
            uploads[key]?.inFlight = [:]
            interrupt(key)
            if case .waiting = uploads[key]?.phase { continue }
            rest(key, now: now)
        }
    }
}
