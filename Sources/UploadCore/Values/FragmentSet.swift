/// A set of fragment indices as a bitmap: which fragments the server acknowledged.
///
/// Kept as 64-bit words, so that a page of it can be stored by itself: one bit a fragment, 64 Gi of content is 16 KiB.
public struct FragmentSet: Equatable, Sendable {
    /// The words of the bitmap; bit `i % 64` of word `i / 64` stands for fragment `i`.
    public private(set) var words: [UInt64]
    /// Number of fragments in the set.
    public private(set) var count: Int

    /// An empty set.
    public init() {
        words = []
        count = 0
    }

    /// A set from stored words.
    public init(words: [UInt64]) {
        self.words = words
        count = words.reduce(0) { $0 + $1.nonzeroBitCount }
    }

    /// The set of the first `prefix` fragments.
    public init(prefix: Int) {
        self.init()
        for index in 0..<max(0, prefix) { insert(index) }
    }

    /// Whether a fragment is in the set.
    public func contains(_ index: Int) -> Bool {
        let word = index / 64
        return word < words.count && words[word] & (1 << UInt64(index % 64)) != 0
    }

    /// Adds a fragment.
    ///
    /// - Returns: whether it was new.
    @discardableResult
    public mutating func insert(_ index: Int) -> Bool {
        let word = index / 64
        if word >= words.count { words.append(contentsOf: repeatElement(0, count: word - words.count + 1)) }
        let bit: UInt64 = 1 << UInt64(index % 64)
        if words[word] & bit != 0 { return false }
        words[word] |= bit
        count += 1
        return true
    }

    /// Takes a fragment out.
    public mutating func remove(_ index: Int) {
        guard contains(index) else { return }
        words[index / 64] &= ~(1 << UInt64(index % 64))
        count -= 1
    }

    /// The first index from `start` on that is not in the set; it may lie past every fragment there is.
    public func firstMissing(from start: Int = 0) -> Int {
        var word = start / 64
        var mask: UInt64 = ~0 << UInt64(start % 64)
        while word < words.count {
            let missing = ~words[word] & mask
            if missing != 0 { return word * 64 + missing.trailingZeroBitCount }
            word += 1
            mask = ~0
        }
        return max(start, words.count * 64)
    }
}
