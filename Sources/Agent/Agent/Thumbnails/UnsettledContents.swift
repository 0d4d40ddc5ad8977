import UploadCore

/// The contents whose examination the next start repeats, since a program, memory, space or the file was missing.
struct UnsettledContents {
    /// With more contents of a kind, all contents of this kind are covered, so that memory stays bounded.
    static let most = 10_000

    private var keys: [MediaType.Kind: Set<ContentKey>] = [:]

    /// Whether the next start has nothing to repeat.
    var isEmpty: Bool { keys.isEmpty }

    mutating func add(_ key: ContentKey, _ kind: MediaType.Kind) {
        if keys[kind, default: []].count <= Self.most { keys[kind, default: []].insert(key) }
    }

    /// The examination of a content succeeded.
    mutating func remove(_ key: ContentKey, _ kind: MediaType.Kind) {
        guard let count = keys[kind]?.count, count <= Self.most else { return }
        keys[kind]?.remove(key)
        if keys[kind]?.isEmpty == true { keys[kind] = nil }
    }

    /// Whether an examination in this run would probably fail again.
    func covers(_ key: ContentKey, _ kind: MediaType.Kind) -> Bool {
        keys[kind].map { $0.count > Self.most || $0.contains(key) } ?? false
    }
}
