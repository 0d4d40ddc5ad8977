import LinuxSystem

/// Why a picture is not encoded anew, as its container shows.
enum ContainerFailure: Error {
    /// The file ends within something that it announces.
    case endsEarly
    /// The file holds something that a JPEG would lose, or that nobody here understands.
    case holdsMore
}

/// The bytes of a file, read in pieces and with bounds checks.
struct FileBytes {
    let file: SharedDescriptor
    let length: UInt64

    /// Reads bytes that must exist.
    func bytes(at offset: UInt64, count: Int) throws(ContainerFailure) -> [UInt8] {
        guard count >= 0, offset <= length, UInt64(count) <= length - offset else { throw .endsEarly }
        let piece = piece(at: offset, count: count)
        if piece.count < count { throw .endsEarly }
        return piece
    }

    /// Reads a number whose highest byte comes first.
    func number(at offset: UInt64, count: Int) throws(ContainerFailure) -> UInt64 {
        try bytes(at: offset, count: count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads up to so many bytes; fewer at the end of the file.
    func piece(at offset: UInt64, count: Int) -> [UInt8] {
        guard offset < UInt64(Int64.max) - UInt64(count) else { return [] }
        var buffer = [UInt8](repeating: 0, count: count)
        let filled = buffer.withUnsafeMutableBytes { bytes in (try? file.read(into: bytes, at: offset)) ?? 0 }
        buffer.removeSubrange(filled...)
        return buffer
    }

    /// Whether nothing but a short padding of zeros follows.
    func isEmpty(from offset: UInt64) -> Bool {
        guard offset <= length, length - offset <= Self.longestPadding else { return offset == length }
        return piece(at: offset, count: Int(length - offset)).allSatisfy { $0 == 0 }
    }

    private static let longestPadding: UInt64 = 1 << 16
}

/// Bytes in memory, read with bounds checks; numbers begin with their highest byte.
struct Bytes {
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }
    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    var count: Int { bytes.count }

    func part(at offset: Int, count: Int) throws(ContainerFailure) -> ArraySlice<UInt8> {
        guard offset >= 0, count >= 0, offset <= bytes.count, count <= bytes.count - offset else { throw .endsEarly }
        let start = bytes.startIndex + offset
        return bytes[start..<start + count]
    }

    func rest(from offset: Int) throws(ContainerFailure) -> ArraySlice<UInt8> {
        try part(at: offset, count: bytes.count - offset)
    }

    func number(at offset: Int, count: Int) throws(ContainerFailure) -> UInt64 {
        try part(at: offset, count: count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    func int(at offset: Int, count: Int) throws(ContainerFailure) -> Int {
        Int(clamping: try number(at: offset, count: count))
    }

    func text(at offset: Int, count: Int) throws(ContainerFailure) -> String {
        String(decoding: try part(at: offset, count: count), as: UTF8.self)
    }
}
