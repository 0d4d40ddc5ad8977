/// Finds what a misspelt word was meant to be.
enum Spelling {
    /// The candidate nearest to `word`, unless it takes so many edits that it is a different word.
    static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
        // A name longer than any key by half is nobody's typing error, and the distance costs the product of the lengths.
        guard word.utf8.count <= 64 else { return nil }
        let ranked = candidates.map { (candidate: $0, distance: distance(word.lowercased(), $0.lowercased())) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, min(word.count, best.candidate.count) / 3) ? best.candidate : nil
    }

    /// The number of insertions, deletions, replacements and swaps of neighbours that turn one into the other
    /// ("optimal string alignment").
    static func distance(_ source: String, _ target: String) -> Int {
        let source = Array(source.unicodeScalars)
        let target = Array(target.unicodeScalars)
        var beforeLast: [Int] = []
        var last = Array(0...target.count)
        for (row, scalar) in source.enumerated() {
            var current = [row + 1]
            for (column, other) in target.enumerated() {
                var best = min(last[column + 1] + 1, current[column] + 1, last[column] + (scalar == other ? 0 : 1))
                if row > 0, column > 0, scalar == target[column - 1], source[row - 1] == other {
                    best = min(best, beforeLast[column - 1] + 1)
                }
                current.append(best)
            }
            (beforeLast, last) = (last, current)
        }
        return last[target.count]
    }
}
