/// A shell pattern for one file name: `*`, `?` and `[…]` (man 7 glob). Matches bytes, because names need not be
/// UTF-8.
///
/// Unlike in a shell, a leading dot has no special meaning. `\` takes the next byte literally.
package struct GlobPattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern as written.
    package let description: String
    fileprivate let tokens: [Token]

    fileprivate enum Token: Sendable, Hashable {
        case byte(UInt8)
        case anyByte
        case anyRun
        case set([ClosedRange<UInt8>], negated: Bool)
    }

    /// Hidden files, and temporary names of browsers, editors and programs that copy or download files.
    package static let unfinishedFiles = [
        ".*", "*.part", "*.partial", "*.crdownload", "*.tmp", "*~", "*.filepart", "*.ffs_tmp", "*.!sync", "*.lftp",
        "*.!qB", "*.download", "*.opdownload", "*.upload", "*.inprogress", "*.bc!", "*_exiftool_tmp",
    ].compactMap(GlobPattern.init)

    /// Parses a pattern. Returns `nil` if the pattern is empty, contains `/` or NUL (no name could match), ends in
    /// `\`, has an unclosed `[`, or has a reversed range.
    package init?(_ pattern: String) {
        guard let tokens = Self.parse(Array(pattern.utf8)) else { return nil }
        self.tokens = tokens
        description = pattern
    }

    /// Whether the pattern matches a whole file name.
    ///
    /// Takes linear time in the length of the name for each `*`. After a mismatch only the last `*` is extended,
    /// since extending an earlier one could gain nothing.
    package func matches(name: ArraySlice<UInt8>) -> Bool {
        var position = name.startIndex
        var token = 0
        var resume: (token: Int, position: Int)?
        while position < name.endIndex {
            if token < tokens.count, case .anyRun = tokens[token] {
                token += 1
                resume = (token, position)
            } else if token < tokens.count, tokens[token].matches(name[position]) {
                token += 1
                position += 1
            } else if let last = resume {
                resume = (last.token, last.position + 1)
                (token, position) = (last.token, last.position + 1)
            } else {
                return false
            }
        }
        return tokens[token...].allSatisfy { $0 == .anyRun }
    }

    /// Whether the pattern matches any component of a relative path.
    package func matchesAnyComponent(of path: [UInt8]) -> Bool {
        path.split(separator: UInt8(ascii: "/")).contains { matches(name: $0) }
    }
}

extension GlobPattern.Token {
    fileprivate func matches(_ candidate: UInt8) -> Bool {
        switch self {
        case .byte(let byte): byte == candidate
        case .anyByte: true
        case .anyRun: false
        case .set(let ranges, let negated): ranges.contains { $0.contains(candidate) } != negated
        }
    }
}

extension GlobPattern {
    fileprivate static func parse(_ bytes: [UInt8]) -> [Token]? {
        guard !bytes.isEmpty, !bytes.contains(UInt8(ascii: "/")), !bytes.contains(0) else { return nil }
        var rest = bytes[...]
        var tokens: [Token] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "*"):
                if tokens.last != .anyRun { tokens.append(.anyRun) }
            case UInt8(ascii: "?"):
                tokens.append(.anyByte)
            case UInt8(ascii: "["):
                guard let set = parseSet(&rest) else { return nil }
                tokens.append(set)
            case UInt8(ascii: "\\"):
                guard let literal = rest.popFirst() else { return nil }
                tokens.append(.byte(literal))
            default:
                tokens.append(.byte(byte))
            }
        }
        return tokens
    }

    /// Parses the rest of a set after `[`. A `]` in first place is literal, as is a `-` in first or last place.
    fileprivate static func parseSet(_ rest: inout ArraySlice<UInt8>) -> Token? {
        let negated = rest.first == UInt8(ascii: "!") || rest.first == UInt8(ascii: "^")
        if negated { rest.removeFirst() }
        var ranges: [ClosedRange<UInt8>] = []
        while let low = rest.popFirst() {
            if low == UInt8(ascii: "]"), !ranges.isEmpty { return .set(ranges, negated: negated) }
            let isRange =
                rest.first == UInt8(ascii: "-") && rest.dropFirst().first.map { $0 != UInt8(ascii: "]") } ?? false
            guard isRange else {
                ranges.append(low...low)
                continue
            }
            rest.removeFirst()
            guard let high = rest.popFirst(), low <= high else { return nil }
            ranges.append(low...high)
        }
        return nil
    }
}
