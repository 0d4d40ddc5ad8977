/// A value on the heap, copied on write.
///
/// A copy costs one retain, however many tables the value holds. `AgentCore` and its views pass path book, posts and
/// upload machine around several times an event.
struct Boxed<Value: Sendable>: @unchecked Sendable {
    // Unchecked: the storage changes only while this box alone refers to it.
    private final class Storage {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var storage: Storage

    init(_ value: Value) { storage = Storage(value) }

    /// The value. A change copies the value first if another box shares it.
    var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }
}
