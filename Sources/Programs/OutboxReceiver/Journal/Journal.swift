import Glibc
import SystemPackage

/// The append-only file that records everything except the bytes of files.
///
/// The server appends each entry with one `write` (O_APPEND) before it answers a request with that fact. A kill of
/// this process therefore loses no answered request. A power cut may lose the unsynchronised entries of the last
/// seconds. A torn line fails its checksum, and the reader skips it.
struct Journal: ~Copyable {
    private static let name = "journal"
    private static let rewrittenName = "journal.new"
    private static let pieceSize = 1 << 20

    private let folder: Folder
    private var file: OpenFile
    private var buffer: [UInt8] = []
    /// The length of all whole lines, in bytes.
    private(set) var length: Int64
    private(set) var lines: Int
    /// At this length the journal wants to be rewritten.
    private var longest: Int64
    private static let shortestLong: Int64 = 16 << 20
    /// Whether a failed append left bytes behind ``length`` that could not be truncated.
    private var hasDebris = false
    /// Whether the last append failed.
    private(set) var hasFailed = false
    var isUnwritable: Bool { hasFailed || isSuspect }
    /// Set when the disk failed to store appended entries. Only a rewritten journal is reliable then.
    var isSuspect = false

    /// Whether `folder` has a journal.
    static func exists(in folder: Folder) throws(Errno) -> Bool { try folder.status(of: name)?.isRegular == true }

    /// Reads the journal in `folder` and passes every entry to `replay`, in order.
    /// - Parameter kinds: Passes over other kinds of lines without parsing them; nil: reads all.
    /// - Returns: The number of lines, and how many of them were torn or malformed.
    static func read(
        _ folder: Folder, only kinds: [JournalLine.Kind]? = nil, _ replay: (JournalEntry) -> Void
    ) throws(Errno) -> (lines: Int, bad: Int) {
        guard let file = try folder.openExisting(name) else { return (0, 0) }
        var reader = LineReader(file)
        var lines = 0
        var bad = 0
        while try reader.next({ line in
            lines += 1
            if let kinds, !JournalLine.isKind(line, of: kinds) { return }
            if let entry = JournalLine.entry(from: line) { replay(entry) } else { bad += 1 }
        }) {}
        return (lines, bad)
    }

    /// Opens the journal for appending.
    /// - Parameter lines: The number of lines in the existing journal.
    init(appendingIn folder: Folder, lines: Int = 0) throws(Errno) {
        let file = try folder.open(Self.name, O_RDWR | O_APPEND | O_CREAT, mode: 0o600)
        var length = try file.status().size
        do throws(Errno) {
            length = try Self.endLastLine(of: file)
        } catch .noSpace {
            // What follows would continue the line, so the journal is rewritten before a confirmation.
            isSuspect = true
        }
        self.folder = folder
        self.file = file
        self.length = length
        self.lines = lines
        longest = Self.longest(after: length)
    }

    private static func longest(after length: Int64) -> Int64 { max(shortestLong, 2 * length) }

    /// Whether the journal has grown so much that it wants to be rewritten. True once: the next wish comes at twice the
    /// length, unless a rewrite made it shorter.
    mutating func takeWishForRewrite() -> Bool {
        guard length > longest else { return false }
        longest = Self.longest(after: length)
        return true
    }

    /// Ends a line that a kill left unfinished, so that the next entry starts on a line of its own.
    /// - Returns: The length of the file.
    private static func endLastLine(of file: OpenFile) throws(Errno) -> Int64 {
        let length = try file.status().size
        guard length > 0, try !endsInNewline(file, length) else { return length }
        try append([UInt8(ascii: "\n")], to: file)
        return length + 1
    }

    private static func endsInNewline(_ file: OpenFile, _ length: Int64) throws(Errno) -> Bool {
        var last: UInt8 = 0
        _ = try withUnsafeMutableBytes(of: &last) { byte throws(Errno) in try file.read(into: byte, at: length - 1) }
        return last == UInt8(ascii: "\n")
    }

    // MARK: Appending

    /// Appends all entries with one write, or none of them.
    mutating func append(_ entries: [JournalEntry]) throws(Errno) {
        buffer.removeAll(keepingCapacity: true)
        for entry in entries { JournalLine.append(entry, to: &buffer) }
        if hasDebris { try cutDebris() }
        do throws(Errno) {
            try Self.append(buffer, to: file)
            hasFailed = false
        } catch {
            hasFailed = true
            // A partial line would make the next line unreadable too.
            hasDebris = true
            try? cutDebris()
            throw error
        }
        length += Int64(buffer.count)
        lines += entries.count
    }

    private mutating func cutDebris() throws(Errno) {
        try file.truncate(to: length)
        hasDebris = false
    }

    private static func append(_ bytes: [UInt8], to file: OpenFile) throws(Errno) {
        try bytes.withUnsafeBufferPointer { bytes throws(Errno) in try file.append(UnsafeRawBufferPointer(bytes)) }
    }

    // MARK: Rewriting

    /// A new journal beside the current one.
    struct Rewrite {
        fileprivate let file: OpenFile
        fileprivate let lines: Int
    }

    /// Writes a compact journal. ``replace(by:copyingFrom:lines:)`` puts the new journal into use; an unused one is
    /// overwritten by the next rewrite.
    ///
    /// - Parameter forEachEntry: calls its argument for each entry of the new journal.
    static func rewrite(
        _ forEachEntry: ((JournalEntry) throws(Errno) -> Void) throws(Errno) -> Void, in folder: Folder
    ) throws(Errno) -> Rewrite {
        try folder.remove(rewrittenName)
        let file = try folder.open(rewrittenName, O_RDWR | O_APPEND | O_CREAT | O_EXCL, mode: 0o600)
        var bytes: [UInt8] = []
        var lines = 0
        try forEachEntry { entry throws(Errno) in
            JournalLine.append(entry, to: &bytes)
            lines += 1
            guard bytes.count >= pieceSize else { return }
            try append(bytes, to: file)
            bytes.removeAll(keepingCapacity: true)
        }
        try append(bytes, to: file)
        try file.synchronize()
        return Rewrite(file: file, lines: lines)
    }

    /// Replaces this journal by the rewritten one, after appending the entries added since this journal had `offset`
    /// bytes. The rename is atomic: a reader finds either the old journal or the new one.
    mutating func replace(by rewrite: Rewrite, copyingFrom offset: Int64, lines tail: Int) throws(Errno) {
        var bytes = [UInt8](repeating: 0, count: Int(length - offset))
        let count = try bytes.withUnsafeMutableBufferPointer { buffer throws(Errno) in
            try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
        guard count == bytes.count else { throw .ioError }
        try Self.append(bytes, to: rewrite.file)
        try rewrite.file.synchronize()
        let rewrittenLength = try rewrite.file.status().size
        try folder.rename(Self.rewrittenName, into: folder, as: Self.name)
        file = rewrite.file
        length = rewrittenLength
        longest = Self.longest(after: length)
        lines = rewrite.lines + tail
        hasDebris = false
        hasFailed = false
        try folder.synchronize()
        isSuspect = false
    }
}
