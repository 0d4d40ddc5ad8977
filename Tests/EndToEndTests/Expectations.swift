import EndToEndSupport
import Testing

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
