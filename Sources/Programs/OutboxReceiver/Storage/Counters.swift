import Synchronization

/// What happened since the start, for `/metrics`.
final class Counters: Sendable {
    struct Values: Sendable {
        var requests = 0
        var fragments = 0
        var fragmentBytes: Int64 = 0
        var files = 0
        var fileBytes: Int64 = 0
        /// Replies with 4xx or 5xx, by status.
        var refusals: [Int: Int] = [:]
    }

    private let state = Mutex(Values())

    var values: Values { state.withLock { $0 } }

    func count(_ change: (inout Values) -> Void) { state.withLock { change(&$0) } }
}
