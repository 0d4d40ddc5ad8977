/// A path relative to the outbox, as the bytes the kernel knows: no leading slash, no empty part, no `.` or `..`.
///
/// Bytes and not a `String`, since a legal Linux file name need not be UTF-8 (man 7 path_resolution).
public struct RelativePath: Hashable, Sendable {
    /// The path's bytes; empty for the outbox itself.
    public let bytes: [UInt8]

    private static let slash = UInt8(ascii: "/")

    /// The outbox itself.
    public static let root = RelativePath(unchecked: [])

    private init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Takes bytes over if they are a proper relative path.
    ///
    /// - Returns: nil for a leading or trailing slash, an empty part, `.`, `..` or a NUL.
    public init?(_ bytes: [UInt8]) {
        for part in bytes.split(separator: Self.slash, omittingEmptySubsequences: false) {
            if bytes.isEmpty { break }
            if part.isEmpty || part.contains(0) || part.elementsEqual(".".utf8) || part.elementsEqual("..".utf8) {
                return nil
            }
        }
        self.bytes = bytes
    }

    /// Takes a string over if it is a proper relative path; see `init(_:)` for bytes.
    public init?(_ string: String) {
        self.init(Array(string.utf8))
    }

    /// The last part; empty for the outbox itself.
    public var name: ArraySlice<UInt8> {
        guard let slash = bytes.lastIndex(of: Self.slash) else { return bytes[...] }
        return bytes[(slash + 1)...]
    }

    /// The path without its last part.
    public var parent: RelativePath {
        guard let slash = bytes.lastIndex(of: Self.slash) else { return .root }
        return RelativePath(unchecked: Array(bytes[..<slash]))
    }

    /// The parts from the top down.
    public var parts: [ArraySlice<UInt8>] { bytes.split(separator: Self.slash) }

    /// This path with one more part.
    ///
    /// - Parameter name: a file name, which never holds a slash.
    public func appending(_ name: some Collection<UInt8>) -> RelativePath {
        if bytes.isEmpty { return RelativePath(unchecked: Array(name)) }
        var longer: [UInt8] = []
        longer.reserveCapacity(bytes.count + 1 + name.count)
        longer.append(contentsOf: bytes)
        longer.append(Self.slash)
        longer.append(contentsOf: name)
        return RelativePath(unchecked: longer)
    }

    /// Whether this path is `other` or lies below it.
    public func isWithin(_ other: RelativePath) -> Bool {
        if other.bytes.isEmpty { return true }
        guard bytes.starts(with: other.bytes) else { return false }
        return bytes.count == other.bytes.count || bytes[other.bytes.count] == Self.slash
    }

    /// This path as seen from a directory that it lies below; nil where it does not.
    public func relative(to directory: RelativePath) -> RelativePath? {
        if directory.bytes.isEmpty { return self }
        guard isWithin(directory) else { return nil }
        return RelativePath(Array(bytes.dropFirst(directory.bytes.count + 1)))
    }

    /// This path with `old`, within which it lies, exchanged for `new`: where a file is after its directory was renamed.
    ///
    /// - Returns: nil when this path does not lie within `old`.
    public func moved(from old: RelativePath, to new: RelativePath) -> RelativePath? {
        guard isWithin(old) else { return nil }
        if bytes.count == old.bytes.count { return new }
        let rest = old.bytes.isEmpty ? bytes[...] : bytes[(old.bytes.count + 1)...]
        return new.appending(rest)
    }

    /// Whether every byte is part of valid UTF-8.
    public var isUTF8: Bool { String(validating: bytes, as: UTF8.self) != nil }
}

extension RelativePath: CustomStringConvertible {
    /// The path as it is shown and as it stands in JSON: as it is where it is UTF-8, else with its odd bytes and every
    /// `%` percent-encoded.
    public var description: String {
        if let string = String(validating: bytes, as: UTF8.self) { return string }
        var result = ""
        var rest = bytes[...]
        while let first = rest.first {
            // The longest valid scalar of at most four bytes, else a single odd byte.
            let scalar = (1...4).lazy.filter { $0 <= rest.count }
                .compactMap { String(validating: rest.prefix($0), as: UTF8.self) }.first
            if first == UInt8(ascii: "%") {
                result += "%25"
                rest.removeFirst()
            } else if let scalar {
                result += scalar
                rest.removeFirst(scalar.utf8.count)
            } else {
                result += "%" + first.hexadecimal.uppercased()
                rest.removeFirst()
            }
        }
        return result
    }
}

extension RelativePath: Comparable {
    /// Orders by bytes.
    public static func < (left: RelativePath, right: RelativePath) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
