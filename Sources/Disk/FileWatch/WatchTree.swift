import UploadCore

/// The directories of the outbox and their inotify watches; maps each watch to its present path.
///
/// A rename moves one node, however large the subtree; paths are assembled on demand.
struct WatchTree {
    /// Identifies a directory; never reused.
    typealias ID = Int

    private struct Node {
        var parent: ID?
        var name: [UInt8]
        var children: [[UInt8]: ID] = [:]
        var watch: Int32?
        var isListed = false
    }

    static let root: ID = 0

    private var nodes: [ID: Node] = [root: Node(parent: nil, name: [])]
    private var byWatch: [Int32: ID] = [:]
    private var nextID = 1
    /// Number of directories not listed yet: usually 0, which spares `unlisted` its search.
    private var unlistedCount = 1

    /// Number of directories, the root included.
    var count: Int { nodes.count }

    /// Number of watches.
    var watchCount: Int { byWatch.count }

    /// Whether a directory is still in the tree.
    func contains(_ id: ID) -> Bool { nodes[id] != nil }

    /// Returns a directory's path; nil if the directory was removed.
    func path(_ id: ID) -> RelativePath? {
        guard nodes[id] != nil else { return nil }
        var names: [[UInt8]] = []
        var node = nodes[id]
        while let current = node, let parent = current.parent {
            names.append(current.name)
            node = nodes[parent]
        }
        return RelativePath(Array(names.reversed().joined(separator: CollectionOfOne(UInt8(ascii: "/")))))
    }

    /// Returns the directory of a watch.
    func directory(of watch: Int32) -> ID? { byWatch[watch] }

    /// Returns the watch of a directory.
    func watch(of id: ID) -> Int32? { nodes[id]?.watch }

    /// Returns the child directory with the given name.
    func child(_ name: [UInt8], of parent: ID) -> ID? { nodes[parent]?.children[name] }

    /// Returns the directory at a path.
    func find(_ path: RelativePath) -> ID? {
        var id: ID? = WatchTree.root
        for part in path.parts { id = id.flatMap { child(Array(part), of: $0) } }
        return id
    }

    /// Returns the child directories.
    func children(of id: ID) -> [(name: [UInt8], id: ID)] {
        nodes[id]?.children.map { (name: $0.key, id: $0.value) } ?? []
    }

    /// Whether the directory was listed since it was added.
    func isListed(_ id: ID) -> Bool { nodes[id]?.isListed ?? false }

    /// Records that the directory was listed.
    mutating func markListed(_ id: ID) {
        guard nodes[id]?.isListed == false else { return }
        nodes[id]?.isListed = true
        unlistedCount -= 1
    }

    /// Adds a directory, or finds the existing one.
    ///
    /// - Returns: nil if the parent was removed.
    mutating func add(_ name: [UInt8], to parent: ID) -> (id: ID, isNew: Bool)? {
        guard let siblings = nodes[parent]?.children else { return nil }
        if let known = siblings[name] { return (known, false) }
        let id = nextID
        nextID += 1
        nodes[id] = Node(parent: parent, name: name)
        nodes[parent]?.children[name] = id
        unlistedCount += 1
        return (id, true)
    }

    /// Assigns a watch to a directory.
    ///
    /// - Returns: the directory's previous watch, which the caller should end.
    mutating func bind(_ watch: Int32, to id: ID) -> Int32? {
        guard let node = nodes[id] else { return watch }
        if let other = byWatch[watch], other != id { nodes[other]?.watch = nil }
        byWatch[watch] = id
        nodes[id]?.watch = watch
        guard let old = node.watch, old != watch else { return nil }
        byWatch[old] = nil
        return old
    }

    /// Removes a watch that the kernel ended.
    ///
    /// - Returns: the directory that lost its watch.
    @discardableResult
    mutating func unbind(_ watch: Int32) -> ID? {
        guard let id = byWatch.removeValue(forKey: watch) else { return nil }
        nodes[id]?.watch = nil
        return id
    }

    /// Removes a directory with everything below it; the root is never removed.
    ///
    /// - Returns: the removed directories' watches, which the caller should end.
    mutating func remove(_ id: ID) -> [Int32] {
        guard let node = nodes[id], let parent = node.parent else { return [] }
        nodes[parent]?.children[node.name] = nil
        var watches: [Int32] = []
        var rest = [id]
        while let next = rest.popLast() {
            guard let removed = nodes.removeValue(forKey: next) else { continue }
            rest.append(contentsOf: removed.children.values)
            if !removed.isListed { unlistedCount -= 1 }
            if let watch = removed.watch {
                byWatch[watch] = nil
                watches.append(watch)
            }
        }
        return watches
    }

    /// Moves a directory with everything below it.
    ///
    /// - Returns: the watches of a displaced directory at the new name; nil if the move is impossible, because the
    ///   directory or the new parent is gone or the directory would lie within itself.
    mutating func move(_ id: ID, to parent: ID, as name: [UInt8]) -> [Int32]? {
        guard let node = nodes[id], let oldParent = node.parent, nodes[parent] != nil else { return nil }
        var ancestor: ID? = parent
        while let current = ancestor {
            if current == id { return nil }
            ancestor = nodes[current]?.parent
        }
        if oldParent == parent && node.name == name { return [] }
        var displaced: [Int32] = []
        if let other = nodes[parent]?.children[name] { displaced = remove(other) }
        // If events were lost, the displaced directory may have contained the moved one.
        guard nodes[id] != nil else { return displaced }
        nodes[oldParent]?.children[node.name] = nil
        nodes[parent]?.children[name] = id
        nodes[id]?.parent = parent
        nodes[id]?.name = name
        return displaced
    }

    /// Returns the unlisted directories at and below a directory.
    func unlisted(at id: ID) -> [ID] {
        if unlistedCount == 0 { return [] }
        var result: [ID] = []
        var rest = [id]
        while let next = rest.popLast() {
            guard let node = nodes[next] else { continue }
            if !node.isListed { result.append(next) }
            rest.append(contentsOf: node.children.values)
        }
        return result
    }
}
