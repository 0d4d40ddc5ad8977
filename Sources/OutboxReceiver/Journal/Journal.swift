import Glibc
import SystemPackage

/// The append-only file that remembers everything but the bytes of files.
///
/// Each entry is one `write` to a descriptor opened with O_APPEND before anybody is told of what it says, so a kill of
/// this process at any moment loses nothing that was answered. A power cut may lose the entries of the last seconds
/// that were not synchronised; a line torn by it fails its checksum and is skipped.
struct Journal: ~Copyable {
    private static let name = "journal"
    private static let rewrittenName = "journal.new"

    private let file: OpenFile
    private var buffer: [UInt8] = []

    /// Reads the journal in `folder`, telling `replay` every entry in order.
    /// - Returns: The number of lines, and how many of them were torn or not understood.
    static func read(_ folder: Folder, _ replay: (JournalEntry) -> Void) throws(Errno) -> (lines: Int, bad: Int) {
        guard let file = try folder.openExisting(name) else { return (0, 0) }
        var reader = LineReader(file)
        var lines = 0
        var bad = 0
        while try reader.next({ line in
            lines += 1
            if let entry = JournalLine.entry(from: line) { replay(entry) } else { bad += 1 }
        }) {}
        return (lines, bad)
    }

    /// Opens the journal for appending.
    init(appendingIn folder: Folder) throws(Errno) {
        file = try folder.open(Self.name, O_WRONLY | O_APPEND | O_CREAT, mode: 0o600)
    }

    /// Replaces the journal in `folder` with these entries; a reader at any moment finds the old one or the new one.
    static func rewrite(_ folder: Folder, _ entries: some Sequence<JournalEntry>) throws(Errno) {
        try folder.remove(rewrittenName)
        let file = try folder.open(rewrittenName, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, mode: 0o600)
        var bytes: [UInt8] = []
        for entry in entries {
            JournalLine.append(entry, to: &bytes)
            guard bytes.count >= 1 << 20 else { continue }
            try append(bytes, to: file)
            bytes.removeAll(keepingCapacity: true)
        }
        try append(bytes, to: file)
        try file.synchronize()
        try folder.rename(rewrittenName, into: folder, as: name)
        try folder.synchronize()
    }

    /// Appends all entries with one write.
    mutating func append(_ entries: [JournalEntry]) throws(Errno) {
        buffer.removeAll(keepingCapacity: true)
        for entry in entries { JournalLine.append(entry, to: &buffer) }
        try Self.append(buffer, to: file)
    }

    /// Returns when everything appended is on the disk itself.
    func synchronize() throws(Errno) {
        try file.synchronize()
    }

    private static func append(_ bytes: [UInt8], to file: OpenFile) throws(Errno) {
        var outcome: Result<Void, Errno> = .success(())
        bytes.withUnsafeBytes { bytes in
            do throws(Errno) { try file.append(bytes) } catch { outcome = .failure(error) }
        }
        try outcome.get()
    }
}

/// The lines of a file, read in large pieces.
private struct LineReader {
    private static let pieceSize = 1 << 20

    private let file: OpenFile
    private var bytes: [UInt8] = []
    private var start = 0
    private var offset: Int64 = 0

    init(_ file: OpenFile) {
        self.file = file
    }

    /// Calls `body` with the next line, without its end. False at the end of the file; a last line without an end
    /// counts as a line.
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
        var outcome: Result<Int, Errno> = .success(0)
        bytes.withUnsafeMutableBytes { buffer in
            let space = UnsafeMutableRawBufferPointer(rebasing: buffer[kept...])
            do throws(Errno) { outcome = .success(try file.read(into: space, at: offset)) } catch {
                outcome = .failure(error)
            }
        }
        let count = try outcome.get()
        offset += Int64(count)
        bytes.removeLast(Self.pieceSize - count)
        return count > 0
    }
}
