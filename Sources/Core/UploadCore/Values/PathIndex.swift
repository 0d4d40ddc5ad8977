/// The directories of some paths, so that a search within a directory visits nothing else.
@usableFromInline struct PathIndex: Sendable {
    /// A directory that contains some path. Stores only its name, so that memory grows linearly with path length.
    private struct Node {
        var parent: Int
        var name: [UInt8]
        var directories: [[UInt8]: Int] = [:]
        var files: Set<RelativePath> = []
    }

    private static let root = 0

    private var nodes: [Int: Node] = [0: Node(parent: 0, name: [])]
    private var lastNode = 0

    @usableFromInline init() {}

    /// Returns all paths below a directory, in no particular order.
    @usableFromInline func paths(below directory: RelativePath) -> [RelativePath] {
        var paths: [RelativePath] = []
        var rest = node(at: directory.bytes[...]).map { [$0] } ?? []
        while let next = rest.popLast() {
            guard let node = nodes[next] else { continue }
            paths.append(contentsOf: node.files)
            rest.append(contentsOf: node.directories.values)
        }
        return paths
    }

    @usableFromInline mutating func insert(_ path: RelativePath) {
        var node = Self.root
        for part in Self.parts(of: path.parentBytes) {
            if let child = nodes[node]?.directories[part] {
                node = child
            } else {
                lastNode += 1
                nodes[lastNode] = Node(parent: node, name: part)
                nodes[node]?.directories[part] = lastNode
                node = lastNode
            }
        }
        nodes[node]?.files.insert(path)
    }

    @usableFromInline mutating func remove(_ path: RelativePath) {
        guard var node = node(at: path.parentBytes) else { return }
        nodes[node]?.files.remove(path)
        while node != Self.root, let empty = nodes[node], empty.files.isEmpty, empty.directories.isEmpty {
            nodes[node] = nil
            nodes[empty.parent]?.directories[empty.name] = nil
            node = empty.parent
        }
    }

    private func node(at directory: ArraySlice<UInt8>) -> Int? {
        var node = Self.root
        for part in Self.parts(of: directory) {
            guard let child = nodes[node]?.directories[part] else { return nil }
            node = child
        }
        return node
    }

    private static func parts(of directory: ArraySlice<UInt8>) -> [[UInt8]] {
        directory.isEmpty ? [] : directory.split(separator: RelativePath.slash).map { Array($0) }
    }
}

extension Dictionary {
    /// Gives the memory of a dictionary back that was large and is empty now. Dictionaries never shrink by themselves.
    package mutating func shrinkIfEmpty() {
        if isEmpty, capacity > 256 { self = [:] }
    }
}
