/// The set of an upload's blocks that are in its data file.
struct BlockSet: Equatable, Sendable {
    private var words: [UInt64]
    private(set) var count = 0

    init(capacity: Int) {
        words = Array(repeating: 0, count: (capacity + 63) / 64)
    }

    func contains(_ index: Int) -> Bool {
        words[index / 64] & (1 << UInt64(index % 64)) != 0
    }

    mutating func insert(_ index: Int) {
        guard !contains(index) else { return }
        words[index / 64] |= 1 << UInt64(index % 64)
        count += 1
    }

    mutating func removeAll() {
        for index in words.indices { words[index] = 0 }
        count = 0
    }
}
