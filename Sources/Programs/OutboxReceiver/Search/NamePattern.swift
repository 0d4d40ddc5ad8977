/// What a search looks for: the name of a file, or the end of its path.
///
/// `beach.jpg` and `trip/BEACH.jpg` match `2026/trip/beach.jpg`; `each.jpg` does not, because whole components are
/// compared. Only ASCII letters match in either case. In each component, `*`, `?` and `[…]` are wildcards (man 7 glob).
/// A component also matches a name that equals it, so `IMG[1].jpg` finds a file of this name.
struct NamePattern: Sendable {
    /// The components from the last to the first.
    private let components: [Component]

    private struct Component: Sendable {
        /// In lower case.
        let literal: [UInt8]
        /// Nil without wildcards.
        let glob: Glob?

        func matches(_ name: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
            let isSame = name.count == literal.count && zip(name, literal).allSatisfy { ASCII.lowercased($0) == $1 }
            return isSame || glob?.matches(name) ?? false
        }
    }

    private init(components: [Component]) {
        self.components = components
    }

    /// Returns nil if the text has no component, such as `/`.
    init?(_ text: String) {
        let texts = text.unicodeScalars.split(separator: "/").filter { !$0.elementsEqual(".".unicodeScalars) }
        guard !texts.isEmpty else { return nil }
        components = texts.reversed().map { text in
            Component(literal: Substring(text).utf8.map(ASCII.lowercased), glob: Glob(text))
        }
    }

    /// Whether the content arrived under a name or path that matches.
    func matches(_ content: Content) -> Bool {
        matches(content.name) || !content.paths.text.isEmpty && content.paths.all.contains { matches($0) }
    }

    /// Whether the content may have a path that matches: an older version recorded none.
    func mayMatch(_ content: Content) -> Bool {
        guard content.paths.text.isEmpty, let last = components.first else { return matches(content) }
        return NamePattern(components: [last]).matches(content.name)
    }

    func matches(_ path: some StringProtocol) -> Bool {
        let isMatch = path.utf8.withContiguousStorageIfAvailable { matches($0[...]) }
        // Only a bridged string has no contiguous storage.
        return isMatch ?? ContiguousArray(path.utf8).withUnsafeBufferPointer { matches($0[...]) }
    }

    private func matches(_ path: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        var rest: Slice<UnsafeBufferPointer<UInt8>>? = path
        for component in components {
            guard let path = rest else { return false }
            let slash = path.lastIndex(of: UInt8(ascii: "/"))
            guard component.matches(slash.map { path[path.index(after: $0)...] } ?? path) else { return false }
            rest = slash.map { path[..<$0] }
        }
        return true
    }
}

/// A pattern with wildcards for one component of a path.
private struct Glob: Sendable {
    private enum Token: Sendable {
        /// In lower case.
        case byte(UInt8)
        case anyScalar
        case anyRun
        case set([ClosedRange<Unicode.Scalar>], isNegated: Bool)
    }

    private let tokens: [Token]

    /// Returns nil if the pattern has no wildcard.
    init?(_ pattern: Substring.UnicodeScalarView) {
        var tokens: [Token] = []
        var hasWildcard = false
        var rest = pattern
        while let scalar = rest.popFirst() {
            let token = Self.wildcard(scalar, &rest)
            hasWildcard = hasWildcard || token != nil
            tokens += token.map { [$0] } ?? UTF8.encode(scalar)?.map { .byte(ASCII.lowercased($0)) } ?? []
        }
        guard hasWildcard else { return nil }
        self.tokens = tokens
    }

    /// Returns nil for a scalar that stands for itself.
    private static func wildcard(_ scalar: Unicode.Scalar, _ rest: inout Substring.UnicodeScalarView) -> Token? {
        switch scalar {
        case "*": return .anyRun
        case "?": return .anyScalar
        case "[":
            var after = rest
            guard let set = set(&after) else { return nil }
            rest = after
            return set
        default: return nil
        }
    }

    /// Parses the rest of a set after `[`. A `]` in first place is literal, as is a `-` in first or last place. A
    /// reversed range matches nothing. Returns nil for a set without an end.
    private static func set(_ rest: inout Substring.UnicodeScalarView) -> Token? {
        let isNegated = rest.first == "!" || rest.first == "^"
        if isNegated { rest.removeFirst() }
        var ranges: [ClosedRange<Unicode.Scalar>] = []
        var isFirst = true
        while let low = rest.popFirst() {
            if low == "]", !isFirst { return .set(ranges, isNegated: isNegated) }
            isFirst = false
            guard rest.first == "-", let high = rest.dropFirst().first, high != "]" else {
                ranges.append(low...low)
                continue
            }
            rest.removeFirst(2)
            if low <= high { ranges.append(low...high) }
        }
        return nil
    }

    /// Takes linear time in the length of the name for each `*`: after a mismatch only the last `*` is extended, since
    /// extending an earlier one could gain nothing.
    func matches(_ name: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        var rest = name
        var index = 0
        var resume: (index: Int, rest: Slice<UnsafeBufferPointer<UInt8>>)?
        while !rest.isEmpty {
            if index < tokens.count, case .anyRun = tokens[index] {
                index += 1
                resume = (index, rest)
            } else if index < tokens.count, let length = Self.length(of: tokens[index], in: rest) {
                index += 1
                rest = rest.dropFirst(length)
            } else if let last = resume {
                rest = last.rest.dropFirst(UTF8.decodeFirst(of: last.rest).length)
                index = last.index
                resume = (index, rest)
            } else {
                return false
            }
        }
        return tokens[index...].allSatisfy { if case .anyRun = $0 { true } else { false } }
    }

    /// Returns how many bytes at the beginning of the name the token matches; nil for none.
    private static func length(of token: Token, in name: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        switch token {
        case .byte(let byte): return name.first.map(ASCII.lowercased) == byte ? 1 : nil
        case .anyRun: return nil
        case .anyScalar: return UTF8.decodeFirst(of: name).length
        case .set(let ranges, let isNegated):
            let (scalar, length) = UTF8.decodeFirst(of: name)
            let (lower, upper) = (ASCII.lowercased(scalar), ASCII.uppercased(scalar))
            let isMember = ranges.contains { $0.contains(scalar) || $0.contains(lower) || $0.contains(upper) }
            return isMember != isNegated ? length : nil
        }
    }
}

extension UTF8 {
    /// Returns the first scalar of the bytes, which must not be empty, and its length in bytes.
    fileprivate static func decodeFirst(
        of bytes: Slice<UnsafeBufferPointer<UInt8>>
    ) -> (scalar: Unicode.Scalar, length: Int) {
        if let first = bytes.first, first < 0x80 { return (Unicode.Scalar(first), 1) }
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return ("\u{fffd}", 1) }
        return (scalar, UTF8.width(scalar))
    }
}

/// The case of ASCII letters. Everything else stays.
private enum ASCII {
    static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    static func lowercased(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        scalar.isASCII ? Unicode.Scalar(lowercased(UInt8(scalar.value))) : scalar
    }

    static func uppercased(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        ("a"..."z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) & 0xdf) : scalar
    }
}
