/// Values by path, with an index of directories, so that a search within a directory visits nothing else.
public struct PathMap<Value> {
    /// A directory that contains some path of the map. Stores only its name, so that memory grows linearly with path
    /// length.
    private struct Node {
        var parent: Int
        var name: [UInt8]
        var directories: [[UInt8]: Int] = [:]
        var files: Set<RelativePath> = []
    }

    private static var root: Int { 0 }

    private var entries: [RelativePath: Value] = [:]
    private var nodes: [Int: Node] = [0: Node(parent: 0, name: [])]
    private var lastNode = 0

    /// Creates an empty map.
    public init() {}

    /// Returns or sets the value of a path.
    public subscript(path: RelativePath) -> Value? {
        get { entries[path] }
        set {
            if let newValue {
                if entries.updateValue(newValue, forKey: path) == nil { index(path) }
            } else if entries.removeValue(forKey: path) != nil {
                unindex(path)
            }
        }
    }

    /// Removes a path and returns its value.
    @discardableResult
    public mutating func removeValue(forKey path: RelativePath) -> Value? {
        guard let value = entries.removeValue(forKey: path) else { return nil }
        unindex(path)
        return value
    }

    /// The number of paths.
    public var count: Int { entries.count }
    /// Whether the map is empty.
    public var isEmpty: Bool { entries.isEmpty }
    /// All paths, in no particular order.
    public var keys: Dictionary<RelativePath, Value>.Keys { entries.keys }
    /// All values, in no particular order.
    public var values: Dictionary<RelativePath, Value>.Values { entries.values }

    /// Returns `directory`, if the map contains it, and all paths below it, in no particular order.
    public func paths(within directory: RelativePath) -> [RelativePath] {
        var paths = entries[directory] == nil ? [] : [directory]
        guard let node = node(at: directory) else { return paths }
        var rest = [node]
        while let next = rest.popLast() {
            guard let node = nodes[next] else { continue }
            paths.append(contentsOf: node.files)
            rest.append(contentsOf: node.directories.values)
        }
        return paths
    }

    private func node(at directory: RelativePath) -> Int? {
        if entries.isEmpty { return nil }
        var node = Self.root
        for part in directory.parts {
            guard let child = nodes[node]?.directories[Array(part)] else { return nil }
            node = child
        }
        return node
    }

    private mutating func index(_ path: RelativePath) {
        var node = Self.root
        for part in path.parts.dropLast() {
            let name = Array(part)
            if let child = nodes[node]?.directories[name] {
                node = child
            } else {
                lastNode += 1
                nodes[lastNode] = Node(parent: node, name: name)
                nodes[node]?.directories[name] = lastNode
                node = lastNode
            }
        }
        nodes[node]?.files.insert(path)
    }

    private mutating func unindex(_ path: RelativePath) {
        var node = Self.root
        for part in path.parts.dropLast() {
            guard let child = nodes[node]?.directories[Array(part)] else { return }
            node = child
        }
        nodes[node]?.files.remove(path)
        while node != Self.root, let empty = nodes[node], empty.files.isEmpty, empty.directories.isEmpty {
            nodes[node] = nil
            nodes[empty.parent]?.directories[empty.name] = nil
            node = empty.parent
        }
        // Sets and dictionaries never shrink by themselves.
        if entries.isEmpty, entries.capacity > 256 { self = PathMap() }
    }
}

extension PathMap: Sendable where Value: Sendable {}

extension PathMap: Sequence {
    /// Returns an iterator over paths and values, in no particular order.
    public func makeIterator() -> Dictionary<RelativePath, Value>.Iterator { entries.makeIterator() }
}
