import EndToEndSupport
import Testing

extension FaultServer {
    /// Faults that let no upload be finished until `letFinish()`: what is to happen to one that is under way comes in
    /// time, however long the machine keeps a test waiting.
    static let keepsAssembling: Hook = { endpoint, _ in endpoint == .isFinish ? .assembling : nil }

    /// From now on everything is answered as it should be.
    func letFinish() { setFaults { _, _ in nil } }
}

/// What every trial over a ``FaultServer`` ends with: each content is there once, nothing is mixed, and the protocol
/// was kept to.
func expectClean(
    _ server: FaultServer, finished keys: [String], sourceLocation: SourceLocation = #_sourceLocation
) {
    let store = server.store
    #expect(store.finished.sorted() == keys.sorted(), "objects on the server", sourceLocation: sourceLocation)
    #expect(store.mixtures == [], sourceLocation: sourceLocation)
    #expect(store.violations == [], sourceLocation: sourceLocation)
}
