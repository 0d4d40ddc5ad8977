import EndToEndSupport
import Testing

extension FaultServer {
    /// Faults that keep all uploads unfinished until `letFinish()`, so that a test's actions come in time on any
    /// machine.
    static let keepsAssembling: Hook = { endpoint, _ in endpoint == .isFinish ? .assembling : nil }

    /// Ends all faults.
    func letFinish() { setFaults { _, _ in nil } }
}

/// Checks the end of every trial with a ``FaultServer``: each content stored once, no mixtures, no violations of the
/// protocol.
func expectClean(
    _ server: FaultServer, finished keys: [String], sourceLocation: SourceLocation = #_sourceLocation
) {
    let store = server.store
    #expect(store.finished.sorted() == keys.sorted(), "objects on the server", sourceLocation: sourceLocation)
    #expect(store.mixtures == [], sourceLocation: sourceLocation)
    #expect(store.violations == [], sourceLocation: sourceLocation)
}
