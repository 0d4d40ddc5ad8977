import CXXHash
import Glibc
import LinuxSystem
import Synchronization
public import SystemPackage
public import UploadCore

/// Stores acknowledged fragments that the ledger does not hold yet, in a file that survives a kill.
///
/// A ledger commit waits for the disk; a fragment's slot does not. Appending an entry is one write(2), which survives
/// a kill of the process. So the slot may send its next fragment at once, and a kill repeats at most the fragments in
/// flight. Only a power cut loses the entries of about the last second; the agent sends their fragments again. The
/// file is emptied whenever the ledger has caught up.
public final class AcknowledgementLog: Sendable {
    /// One acknowledged fragment.
    public struct Entry: Hashable, Sendable {
        /// The content.
        public var key: ContentKey
        /// Index of the fragment.
        public var fragment: Int
        /// Identifies the registration and assembly of the content that the fragment was sent for; an entry of
        /// another generation is ignored.
        public var generation: UInt64

        /// Creates the entry of an acknowledged fragment, with the upload's present generation.
        public init(fragment: Int, of upload: UploadRecord) {
            key = upload.key
            self.fragment = fragment
            generation = Self.generation(of: upload)
        }

        init(key: ContentKey, fragment: Int, generation: UInt64) {
            self.key = key
            self.fragment = fragment
            self.generation = generation
        }

        /// Whether the entry belongs to this upload with its present registration and assembly.
        public func belongs(to upload: UploadRecord) -> Bool {
            key == upload.key && generation == Self.generation(of: upload)
                && (0..<upload.plan.count).contains(fragment)
        }

        private static func generation(of upload: UploadRecord) -> UInt64 {
            var text = "\(upload.assemblyFailures) \(upload.handle?.id ?? "") \(upload.scope)"
            if let object = upload.handle?.object { text += " \(object)" }
            return text.withUTF8 { XXH3_64bits_withSeed($0.baseAddress, $0.count, 0) }
        }
    }

    /// Maximum size of the file in bytes; beyond the maximum, acknowledgements wait for the ledger.
    public static let largestSize = 1 << 20

    private static let entrySize = 36
    private let file: SharedDescriptor
    private let size: Mutex<Int>

    /// Opens or creates the file, with mode 0600.
    ///
    /// - Throws: `Errno` of openat(2) or statx(2).
    public init(path: String) throws(Errno) {
        file = try SharedDescriptor(opening: path, flags: O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, mode: 0o600)
        let found = Int(clamping: try FileStatus(of: file.rawValue).size)
        // Entries after half an entry would be unreadable, so cut the half entry off. Empty a file larger than the
        // log can be.
        let whole = found > Self.largestSize ? 0 : found - found % Self.entrySize
        if whole < found { _ = ftruncate(file.rawValue, off_t(whole)) }
        size = Mutex(whole)
    }

    /// Adds entries in one write.
    ///
    /// - Returns: false if the file does not hold all entries, because it is too large or the disk is full; the
    ///   caller must then wait for the ledger.
    public func append(_ entries: [Entry]) -> Bool {
        let bytes = entries.flatMap(Self.encode)
        return size.withLock { size in
            guard size + bytes.count <= Self.largestSize else { return false }
            let written = try? retryingOnInterrupt {
                bytes.withUnsafeBytes { write(file.rawValue, $0.baseAddress, $0.count) }
            }
            if written == bytes.count {
                size += bytes.count
                return true
            }
            // Entries after half an entry would be unreadable.
            if let written, written > 0 { _ = ftruncate(file.rawValue, off_t(size)) }
            return false
        }
    }

    /// Returns all whole entries, without damaged entries and those cut off by a crash.
    ///
    /// - Throws: `Errno` of the read.
    public func entries() throws(Errno) -> [Entry] {
        var bytes = [UInt8](repeating: 0, count: Self.largestSize)
        var count = 0
        var failure: Errno?
        bytes.withUnsafeMutableBytes { buffer in
            do throws(Errno) {
                count = try file.read(into: buffer, at: 0)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return stride(from: 0, to: count - count % Self.entrySize, by: Self.entrySize).compactMap { start in
            Self.decode(bytes[start..<(start + Self.entrySize)])
        }
    }

    /// Empties the file; call only when the ledger holds all entries.
    public func clear() {
        size.withLock { size in
            if size > 0, ftruncate(file.rawValue, 0) == 0 { size = 0 }
        }
    }

    private static func encode(_ entry: Entry) -> [UInt8] {
        var bytes = entry.key.bytes
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: entry.fragment).littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: entry.generation.littleEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: checksum(bytes).littleEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }

    private static func decode(_ bytes: ArraySlice<UInt8>) -> Entry? {
        let parts = Array(bytes)
        guard parts.count == entrySize, let key = ContentKey(digest: parts[0..<16]),
            number(parts[28..<36]) == checksum(Array(parts[0..<28]))
        else { return nil }
        return Entry(key: key, fragment: Int(number(parts[16..<20])), generation: number(parts[20..<28]))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { XXH3_64bits_withSeed($0.baseAddress, $0.count, 0x6F75_7462_6F78) }
    }
}
