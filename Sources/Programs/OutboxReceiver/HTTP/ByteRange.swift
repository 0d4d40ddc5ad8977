import HTTPTypes

/// The part of a file that a request's `Range` selects (RFC 9110, 14): one range, or else the whole file.
enum ByteRange: Equatable {
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    init(_ headers: HTTPFields, entityTag: String?, size: Int64) {
        guard let field = headers[.range], field.hasPrefix("bytes="), !field.contains(","),
            headers[.ifRange] == nil || headers[.ifRange] == entityTag
        else {
            self = .whole
            return
        }
        let bounds = field.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard bounds.count == 2 else {
            self = .whole
            return
        }
        switch (Int64(bounds[0]), Int64(bounds[1])) {
        case (let first?, let last?) where first <= last: self = Self.part(first, last, size)
        case (let first?, nil) where bounds[1].isEmpty: self = Self.part(first, size - 1, size)
        case (nil, let count?) where bounds[0].isEmpty && count >= 0:
            self = count == 0 ? .unsatisfiable : Self.part(max(0, size - count), size - 1, size)
        default: self = .whole
        }
    }

    private static func part(_ first: Int64, _ last: Int64, _ size: Int64) -> ByteRange {
        first >= 0 && first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
    }
}
