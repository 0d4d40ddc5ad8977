/// A path relative to the outbox, as bytes: no leading slash, no empty part, no `.` or `..`.
///
/// Stores bytes instead of a `String`, since a legal Linux file name need not be UTF-8 (man 7 path_resolution).
public struct RelativePath: Hashable, Sendable {
    /// The path's bytes; empty for the outbox itself.
    public let bytes: [UInt8]

    @usableFromInline static let slash = UInt8(ascii: "/")

    /// The outbox itself.
    public static let root = RelativePath(unchecked: [])

    @inlinable init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Creates a path from bytes.
    ///
    /// - Returns: nil for a leading or trailing slash, an empty part, `.`, `..` or a NUL.
    public init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.isEmpty { return }
        // The bytes of the present part, and whether all of them are dots.
        var (length, isDots) = (0, true)
        for byte in bytes {
            if byte == Self.slash {
                if length == 0 || isDots && length <= 2 { return nil }
                (length, isDots) = (0, true)
            } else {
                if byte == 0 { return nil }
                length += 1
                if byte != UInt8(ascii: ".") { isDots = false }
            }
        }
        if length == 0 || isDots && length <= 2 { return nil }
    }

    /// Creates a path from a string; see `init(_:)` for bytes.
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
        let parent = parentBytes
        return parent.isEmpty ? .root : RelativePath(unchecked: Array(parent))
    }

    /// The bytes of `parent`.
    package var parentBytes: ArraySlice<UInt8> { bytes[..<(bytes.lastIndex(of: Self.slash) ?? 0)] }

    /// The parts of the path, from the top down.
    public var parts: [ArraySlice<UInt8>] { bytes.split(separator: Self.slash) }

    /// Returns this path with another part appended.
    ///
    /// - Parameter name: a file name, without slashes.
    @inlinable public func appending(_ name: some Collection<UInt8>) -> RelativePath {
        if bytes.isEmpty { return RelativePath(unchecked: Array(name)) }
        var longer: [UInt8] = []
        longer.reserveCapacity(bytes.count + 1 + name.count)
        longer.append(contentsOf: bytes)
        longer.append(Self.slash)
        longer.append(contentsOf: name)
        return RelativePath(unchecked: longer)
    }

    /// Whether this path equals `other` or lies below it.
    public func isWithin(_ other: RelativePath) -> Bool {
        if other.bytes.isEmpty { return true }
        guard bytes.starts(with: other.bytes) else { return false }
        return bytes.count == other.bytes.count || bytes[other.bytes.count] == Self.slash
    }

    /// Returns this path relative to a directory above it; nil if the path lies elsewhere.
    public func relative(to directory: RelativePath) -> RelativePath? {
        if directory.bytes.isEmpty { return self }
        guard isWithin(directory) else { return nil }
        return RelativePath(Array(bytes.dropFirst(directory.bytes.count + 1)))
    }

    /// Returns this path with the prefix `old` replaced by `new`: a file's path after a rename of its directory.
    ///
    /// - Returns: nil if this path does not lie within `old`.
    public func moved(from old: RelativePath, to new: RelativePath) -> RelativePath? {
        guard isWithin(old) else { return nil }
        if bytes.count == old.bytes.count { return new }
        let rest = old.bytes.isEmpty ? bytes[...] : bytes[(old.bytes.count + 1)...]
        return new.appending(rest)
    }

    /// Hashes all bytes at once. The derived function would hash them one by one.
    public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    /// Whether the path is valid UTF-8.
    public var isUTF8: Bool { String(validating: bytes, as: UTF8.self) != nil }
}

extension RelativePath {
    /// The last part of ``description``. By bytes: a combining mark would hide the slash before it from Swift's characters.
    package var shownName: String {
        String(description.utf8.split(separator: Self.slash).last ?? description.utf8[...]) ?? description
    }
}

extension RelativePath: CustomStringConvertible {
    /// The path for display and JSON: unchanged if valid UTF-8, else with invalid bytes and every `%` percent-encoded.
    public var description: String {
        if let string = String(validating: bytes, as: UTF8.self) { return string }
        var result = ""
        var rest = bytes[...]
        while let first = rest.first {
            // The longest valid scalar of at most four bytes, else a single invalid byte.
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
    /// Compares byte by byte.
    public static func < (left: RelativePath, right: RelativePath) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
