/// Derives from the agent's counts how many entries ended since the last poll. A cut list cannot tell.
package struct FinishedCount: Sendable {
    /// The number of final entries at the last poll, and of those read since; nil before the first poll.
    private var known: Int?

    /// Creates a count before the first poll.
    package init() {}

    /// Returns the number of entries that ended since the last poll, without those that were read.
    ///
    /// - Parameters:
    ///   - count: The number of all final entries.
    ///   - read: The number of ended entries that were read after the count.
    package mutating func further(_ count: Int, besides read: Int) -> Int {
        guard let known else {
            self.known = count + read
            return 0
        }
        let new = max(0, count - known)
        // An entry may have ended after the count. The next count includes this entry.
        self.known = count + max(0, read - new)
        return max(0, new - read)
    }
}
