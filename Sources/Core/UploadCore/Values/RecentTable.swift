/// Values by key that evicts the values set longest ago. Keeps at least one generation of values and at most two.
package struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    // Inlinable, since each report of a file asks: unspecialized code takes several times as long.
    @usableFromInline let generation: Int
    @usableFromInline var recent: [Key: Value] = [:]
    @usableFromInline var older: [Key: Value] = [:]

    @inlinable package init(generation: Int) {
        self.generation = generation
    }

    /// The number of stored values.
    @inlinable package var count: Int { recent.count + older.count }

    @inlinable package subscript(key: Key) -> Value? {
        @inline(__always) get { recent[key] ?? older[key] }
        @inline(__always) set { update(key) { $0 = newValue } }
    }

    /// Passes the value of a key to `change`, and stores what it leaves there. Costs one look-up instead of two.
    @inlinable package mutating func update<Result>(_ key: Key, _ change: (inout Value?) -> Result) -> Result {
        defer { turnOver() }
        var value = older.isEmpty ? nil : older.removeValue(forKey: key)
        guard value != nil else { return change(&recent[key]) }
        defer { recent[key] = value }
        return change(&value)
    }

    @inlinable mutating func turnOver() {
        guard recent.count >= generation else { return }
        older = recent
        recent = [:]
    }
}
