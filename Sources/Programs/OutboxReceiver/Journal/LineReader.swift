import Glibc
import SystemPackage

/// Reads a file line by line, in large pieces.
struct LineReader {
    private static let pieceSize = 1 << 20

    private let file: OpenFile
    private var bytes: [UInt8] = []
    private var start = 0
    private var offset: Int64 = 0

    init(_ file: OpenFile) {
        self.file = file
    }

    /// Calls `body` with the next line, without its newline. Returns false at the end of the file. A last line
    /// without a newline counts as a line.
    mutating func next(_ body: (Slice<UnsafeRawBufferPointer>) -> Void) throws(Errno) -> Bool {
        while true {
            if let end = lineEnd() {
                bytes.withUnsafeBytes { body($0[start..<end]) }
                start = end + 1
                return true
            }
            guard try fill() else { break }
        }
        guard start < bytes.count else { return false }
        bytes.withUnsafeBytes { body($0[start...]) }
        start = bytes.count
        return true
    }

    private func lineEnd() -> Int? {
        bytes.withUnsafeBytes { buffer in
            guard start < buffer.count, let base = buffer.baseAddress,
                let found = memchr(base + start, Int32(UInt8(ascii: "\n")), buffer.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    private mutating func fill() throws(Errno) -> Bool {
        bytes.removeFirst(start)
        start = 0
        let kept = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: Self.pieceSize))
        let count = try bytes.withUnsafeMutableBufferPointer { buffer throws(Errno) in
            try file.read(
                into: UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[kept...])), at: offset)
        }
        offset += Int64(count)
        bytes.removeLast(Self.pieceSize - count)
        return count > 0
    }
}
