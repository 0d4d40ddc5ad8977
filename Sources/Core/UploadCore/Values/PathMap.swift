/// Values by path, with an index of directories, so that a search within a directory visits nothing else.
///
/// Inlinable, since other rooms store values of their own in it: unspecialized code takes several times as long.
public struct PathMap<Value> {
    @usableFromInline var entries: [RelativePath: Value] = [:]
    @usableFromInline var index = PathIndex()

    /// Creates an empty map.
    @inlinable public init() {}

    /// Returns or sets the value of a path.
    @inlinable public subscript(path: RelativePath) -> Value? {
        get { entries[path] }
        set {
            if let newValue {
                if entries.updateValue(newValue, forKey: path) == nil { index.insert(path) }
            } else {
                removeValue(forKey: path)
            }
        }
    }

    /// Removes a path and returns its value.
    @inlinable @discardableResult
    public mutating func removeValue(forKey path: RelativePath) -> Value? {
        guard let value = entries.removeValue(forKey: path) else { return nil }
        index.remove(path)
        // Sets and dictionaries never shrink by themselves.
        if entries.isEmpty, entries.capacity > 256 { self = PathMap() }
        return value
    }

    /// The number of paths.
    @inlinable public var count: Int { entries.count }
    /// Whether the map is empty.
    @inlinable public var isEmpty: Bool { entries.isEmpty }
    /// All paths, in no particular order.
    @inlinable public var keys: Dictionary<RelativePath, Value>.Keys { entries.keys }
    /// All values, in no particular order.
    @inlinable public var values: Dictionary<RelativePath, Value>.Values { entries.values }

    /// Returns `directory`, if the map contains it, and all paths below it, in no particular order.
    @inlinable public func paths(within directory: RelativePath) -> [RelativePath] {
        if entries.isEmpty { return [] }
        return (entries[directory] == nil ? [] : [directory]) + index.paths(below: directory)
    }
}

extension PathMap: Sendable where Value: Sendable {}

extension PathMap: Sequence {
    /// Returns an iterator over paths and values, in no particular order.
    @inlinable public func makeIterator() -> Dictionary<RelativePath, Value>.Iterator { entries.makeIterator() }
}
