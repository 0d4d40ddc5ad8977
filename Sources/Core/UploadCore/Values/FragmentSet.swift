/// A bitmap of fragment indices: the fragments that the server acknowledged.
///
/// Consists of 64-bit words, so that a page can be stored separately. One bit per fragment: 64 GiB of content need 16
/// KiB.
public struct FragmentSet: Equatable, Sendable {
    /// The words of the bitmap; bit `i % 64` of word `i / 64` stands for fragment `i`.
    public private(set) var words: [UInt64]
    /// The number of fragments in the set.
    public private(set) var count: Int

    /// Creates an empty set.
    public init() {
        words = []
        count = 0
    }

    /// Creates a set from stored words.
    public init(words: [UInt64]) {
        self.words = words
        count = words.reduce(0) { $0 + $1.nonzeroBitCount }
    }

    /// Creates the set of the first `prefix` fragments.
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

    /// Removes a fragment.
    public mutating func remove(_ index: Int) {
        guard contains(index) else { return }
        words[index / 64] &= ~(1 << UInt64(index % 64))
        count -= 1
    }

    /// Returns the first index from `start` on outside the set, possibly beyond the last fragment.
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
