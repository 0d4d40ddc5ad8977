/// Parts of a file that stay as they are: sorted, without overlaps.
struct KeptRanges {
    private let ranges: [Range<UInt64>]

    init(_ ranges: [Range<UInt64>]) {
        var merged: [Range<UInt64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        self.ranges = merged
    }

    /// Whether a range shares a byte with these.
    func overlaps(_ range: Range<UInt64>) -> Bool {
        let index = firstEnding(after: range.lowerBound)
        return index < ranges.count && ranges[index].lowerBound < range.upperBound && !range.isEmpty
    }

    /// Returns the parts of a range between these.
    func gaps(in range: Range<UInt64>) -> [Range<UInt64>] {
        var found: [Range<UInt64>] = []
        var start = range.lowerBound
        for kept in ranges[firstEnding(after: start)...] {
            if kept.lowerBound >= range.upperBound { break }
            if start < kept.lowerBound { found.append(start..<kept.lowerBound) }
            start = kept.upperBound
        }
        if start < range.upperBound { found.append(start..<range.upperBound) }
        return found
    }

    private func firstEnding(after offset: UInt64) -> Int {
        var (first, last) = (0, ranges.count)
        while first < last {
            let middle = (first + last) / 2
            if ranges[middle].upperBound <= offset { first = middle + 1 } else { last = middle }
        }
        return first
    }
}

extension FilePart {
    private static let pieceSize: UInt64 = 1 << 20

    /// Returns the changes that overwrite a range with zeros; none if it consists of zeros already.
    func clearing(_ range: Range<UInt64>, _ cancellation: Cancellation) throws(ProductFailure) -> Patches {
        try isBlank(range, cancellation) ? [] : [.zeros(range)]
    }

    private func isBlank(_ range: Range<UInt64>, _ cancellation: Cancellation) throws(ProductFailure) -> Bool {
        var offset = range.lowerBound
        while offset < range.upperBound {
            try cancellation.check()
            let count = Int(min(Self.pieceSize, range.upperBound - offset))
            guard let bytes = try bytes(at: offset, count: count) else { throw .refused("the file ends early") }
            if bytes.contains(where: { $0 != 0 }) { return false }
            offset += UInt64(count)
        }
        return true
    }

    /// Returns the number at an offset, with the first byte first.
    func number(at offset: UInt64, count: Int) throws(ProductFailure) -> UInt64? {
        guard let bytes = try bytes(at: offset, count: count) else { return nil }
        return ByteReader(bytes: bytes).number(at: 0, count: count)
    }
}
