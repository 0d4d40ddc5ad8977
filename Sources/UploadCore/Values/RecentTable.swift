/// Values by key that evicts the values set longest ago. Keeps at least one generation of values and at most two.
package struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let generation: Int
    private var recent: [Key: Value] = [:]
    private var older: [Key: Value] = [:]

    package init(generation: Int) {
        self.generation = generation
    }

    /// The number of stored values.
    package var count: Int { recent.count + older.count }

    package subscript(key: Key) -> Value? {
        get { recent[key] ?? older[key] }
        set {
            older[key] = nil
            recent[key] = newValue
            guard recent.count >= generation else { return }
            older = recent
            recent = [:]
        }
    }
}
