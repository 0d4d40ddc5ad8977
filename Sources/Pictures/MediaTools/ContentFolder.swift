import CLinux
import Glibc
package import LinuxSystem
import SystemPackage
package import UploadCore

/// Why a thumbnail, or another file of a ``ContentFolder``, could not be made.
package struct ContentFolderFailure: Error, Equatable {
    /// The reason for display, one line.
    package var message: String
    /// Whether another attempt would fail as well.
    package var isFinal: Bool
    /// Whether the disk is full.
    package var isDiskFull = false

    init(message: String, isFinal: Bool) {
        self.message = message
        self.isFinal = isFinal
    }

    /// A failed system call.
    init(_ place: String, _ errno: Errno) {
        message = "\(place): \(errno)"
        isFinal = false
        isDiskFull = errno == .noSpace || errno == .diskQuotaExceeded
    }
}

/// An unfinished file of a ``ContentFolder``.
package struct ContentDraft: Sendable {
    /// The file to write into, open for reading and writing.
    package let file: SharedDescriptor
    /// Temporary name, if the file needs one.
    fileprivate let name: [UInt8]?
}

/// A directory with at most one file for each content, `<key>` with a suffix, created atomically. File operations run on
/// a thread of their own.
package actor ContentFolder {
    package nonisolated let path: String
    private let suffix: String
    /// Whether a file is complete.
    private let isWhole: @Sendable (SharedDescriptor) -> Bool
    package nonisolated let thread: SerialThread
    /// Whether the file system supports unnamed files, as far as known (man 2 open, O_TMPFILE).
    private var hasNamelessFiles: Bool
    private var lastDraft = 0

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - path: Absolute path of the directory, created when needed.
    ///   - suffix: The end of all names.
    ///   - thread: The name of the folder's thread.
    ///   - hasNamelessFiles: False if the file system is known not to support unnamed files, such as NFS.
    ///   - isWhole: Whether a file is complete. A power cut may truncate files.
    package init(
        path: String, suffix: String, thread: String, hasNamelessFiles: Bool = true,
        isWhole: @escaping @Sendable (SharedDescriptor) -> Bool
    ) {
        self.path = path
        self.suffix = suffix
        self.thread = SerialThread(name: thread)
        self.hasNamelessFiles = hasNamelessFiles
        self.isWhole = isWhole
    }

    /// Whether the file of a content exists. A file truncated by a power cut counts as missing and is removed.
    private func has(_ key: ContentKey) -> Bool {
        guard let folder = try? Directory(path: path),
            let file = try? folder.open(name(of: key), flags: O_RDONLY)
        else { return false }
        if isWhole(SharedDescriptor(file)) { return true }
        try? folder.unlink(name(of: key))
        return false
    }

    /// Creates an unnamed file for a content, which vanishes unless it gets a name. If the file system does not
    /// support unnamed files, the file has a temporary name until ``keep(_:as:)`` or ``discard(_:)``. Creates the
    /// directory if missing.
    ///
    /// - Returns: nil if the content's file exists.
    package func newDraft(for key: ContentKey) throws(ContentFolderFailure) -> ContentDraft? {
        has(key) ? nil : try newDraft()
    }

    /// Creates an unnamed file for a content whose key is unknown.
    package func newDraft() throws(ContentFolderFailure) -> ContentDraft {
        do throws(Errno) {
            do throws(Errno) {
                return try createDraft()
            } catch {
                guard error == .noSuchFileOrDirectory else { throw error }
                try Directory.create(path)
                return try createDraft()
            }
        } catch {
            throw ContentFolderFailure("\(path): cannot create a file", error)
        }
    }

    private func createDraft() throws(Errno) -> ContentDraft {
        if let file = try namelessFile() { return ContentDraft(file: file, name: nil) }
        lastDraft += 1
        // Starts at 1 in each run of the agent, so that files left by a power cut are reused.
        let name = Array(".draft-\(lastDraft)".utf8)
        let file = try Directory(path: path).open(name, flags: O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
        return ContentDraft(file: SharedDescriptor(file), name: name)
    }

    /// man 2 open: EOPNOTSUPP comes from the file system, EISDIR from a layer without support for O_TMPFILE.
    private func namelessFile() throws(Errno) -> SharedDescriptor? {
        if !hasNamelessFiles { return nil }
        do throws(Errno) {
            return try SharedDescriptor(opening: path, flags: outbox_o_tmpfile | O_RDWR, mode: 0o600)
        } catch {
            if error != .notSupportedOnSocket && error != .isDirectory { throw error }
            hasNamelessFiles = false
            return nil
        }
    }

    /// Gives a finished file its final name. Durable on return.
    ///
    /// - Throws: ``ContentFolderFailure``, also if the file is incomplete.
    package func keep(_ draft: ContentDraft, as key: ContentKey) throws(ContentFolderFailure) {
        guard isWhole(draft.file) else {
            throw ContentFolderFailure(message: "the file that was made is incomplete", isFinal: true)
        }
        do throws(Errno) {
            let folder = try Directory(path: path)
            try retryingOnInterrupt { fdatasync(draft.file.rawValue) }
            if let name = draft.name {
                try folder.rename(name, to: self.name(of: key))
            } else {
                try link(draft.file, as: key)
            }
            try retryingOnInterrupt { fsync(folder.rawValue) }
        } catch {
            throw ContentFolderFailure("\(path)/\(key)\(suffix)", error)
        }
    }

    /// Links the file under its final name. An existing file stays.
    private func link(_ file: SharedDescriptor, as key: ContentKey) throws(Errno) {
        do throws(Errno) {
            try retryingOnInterrupt {
                linkat(
                    AT_FDCWD, "/proc/self/fd/\(file.rawValue)", AT_FDCWD, "\(path)/\(key)\(suffix)", AT_SYMLINK_FOLLOW)
            }
        } catch {
            if error != .fileExists { throw error }
        }
    }

    /// Opens the file of a content for reading; nil if it is missing or incomplete.
    package nonisolated func open(_ key: ContentKey) -> SharedDescriptor? {
        guard let file = try? Directory(path: path).open(name(of: key), flags: O_RDONLY) else { return nil }
        let shared = SharedDescriptor(file)
        return isWhole(shared) ? shared : nil
    }

    /// The keys of all contents with a file, unordered.
    package var keys: [ContentKey] {
        let entries = (try? Directory(path: path).entries()) ?? []
        return entries.compactMap { entry in
            let name = String(decoding: entry.name, as: UTF8.self)
            return name.hasSuffix(suffix) ? ContentKey(hexadecimal: String(name.dropLast(suffix.count))) : nil
        }
    }

    /// Removes an unused draft. An unnamed one vanishes by itself.
    package nonisolated func discard(_ draft: ContentDraft) async {
        if let name = draft.name { await removeDraft(name) }
    }

    private func removeDraft(_ name: [UInt8]) { try? Directory(path: path).unlink(name) }

    /// Removes the file of a content. A missing file is no error.
    package func remove(_ key: ContentKey) { unlink(key) }

    /// Removes the file of a content. For callers on the folder's thread; blocks.
    package nonisolated func unlink(_ key: ContentKey) { try? Directory(path: path).unlink(name(of: key)) }

    private nonisolated func name(of key: ContentKey) -> [UInt8] { Array("\(key)\(suffix)".utf8) }
}

extension ContentFolder {
    /// A folder of thumbnails, which are JPEG files.
    init(thumbnails path: String, hasNamelessFiles: Bool = true) {
        self.init(path: path, suffix: ".jpg", thread: "thumbnails", hasNamelessFiles: hasNamelessFiles) {
            Self.isWholeJPEG($0)
        }
    }

    /// A JPEG begins with SOI and ends with EOI (ITU-T T.81, annex B). Blocks lost in a power cut read as zeros.
    private static func isWholeJPEG(_ file: SharedDescriptor) -> Bool {
        guard let size = try? FileStatus(of: file.rawValue).size, size > 4 else { return false }
        func marker(at offset: UInt64) -> [UInt8] {
            var bytes: [UInt8] = [0, 0]
            let count = try? bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
            return count == 2 ? bytes : []
        }
        return marker(at: 0) == [0xFF, 0xD8] && marker(at: size - 2) == [0xFF, 0xD9]
    }
}
