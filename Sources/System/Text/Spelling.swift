/// Suggests a replacement for a misspelt word.
package enum Spelling {
    /// Returns the candidate nearest to `word`; `nil` if it differs too much.
    package static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
        // Much longer names are no typing errors, and the distance takes time proportional to the product of the
        // lengths.
        guard word.utf8.count <= 64 else { return nil }
        let ranked = candidates.map { (candidate: $0, distance: distance(word.lowercased(), $0.lowercased())) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, min(word.count, best.candidate.count) / 3) ? best.candidate : nil
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbours that turn one word into the
    /// other ("optimal string alignment").
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
