import CLinux
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// Why a thumbnail could not be made.
struct ThumbnailFailure: Error, Equatable {
    /// The reason for display, one line.
    var message: String
    /// Whether another attempt would fail as well.
    var isFinal: Bool
}

/// An unfinished thumbnail.
struct ThumbnailDraft: Sendable {
    /// The file to draw into, open for reading and writing.
    let file: SharedDescriptor
    /// Temporary name, if the file needs one.
    fileprivate let name: [UInt8]?
}

/// `<state>/thumbnails`: one `<key>.jpg` for each content, created atomically. File operations run on a thread of
/// their own.
actor ThumbnailFolder {
    private let path: String
    nonisolated let thread = SerialThread(name: "thumbnails")
    /// Whether the file system supports unnamed files, as far as known (man 2 open, O_TMPFILE).
    private var hasNamelessFiles: Bool
    private var lastDraft = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - path: Absolute path of the directory.
    ///   - hasNamelessFiles: False if the file system is known not to support unnamed files, such as NFS.
    init(path: String, hasNamelessFiles: Bool = true) {
        self.path = path
        self.hasNamelessFiles = hasNamelessFiles
    }

    /// Whether a thumbnail exists. A thumbnail truncated by a power cut counts as missing and is removed.
    private func has(_ key: ContentKey) -> Bool {
        guard let folder = try? Directory(path: path),
            let file = try? folder.open(name(of: key), flags: O_RDONLY)
        else { return false }
        if isWhole(SharedDescriptor(file)) { return true }
        try? folder.unlink(name(of: key))
        return false
    }

    /// Creates an unnamed file for a thumbnail, which vanishes unless it gets a name. If the file system does not
    /// support unnamed files, the file has a temporary name until ``keep(_:as:)`` or ``discard(_:)``. Creates the
    /// directory if missing.
    ///
    /// - Returns: nil if the thumbnail exists.
    func newDraft(for key: ContentKey) throws(ThumbnailFailure) -> ThumbnailDraft? {
        if has(key) { return nil }
        do throws(Errno) {
            do throws(Errno) {
                return try createDraft()
            } catch {
                guard error == .noSuchFileOrDirectory else { throw error }
                try Directory.create(path)
                return try createDraft()
            }
        } catch {
            throw ThumbnailFailure(message: "\(path): cannot create a file: \(error)", isFinal: false)
        }
    }

    private func createDraft() throws(Errno) -> ThumbnailDraft {
        if let file = try namelessFile() { return ThumbnailDraft(file: file, name: nil) }
        lastDraft += 1
        // Starts at 1 in each run of the agent, so that files left by a power cut are reused.
        let name = Array(".draft-\(lastDraft)".utf8)
        let file = try Directory(path: path).open(name, flags: O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
        return ThumbnailDraft(file: SharedDescriptor(file), name: name)
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

    /// Gives a finished thumbnail its final name. Durable on return.
    ///
    /// - Throws: ``ThumbnailFailure``, also if the file is no complete JPEG.
    func keep(_ draft: ThumbnailDraft, as key: ContentKey) throws(ThumbnailFailure) {
        guard isWhole(draft.file) else {
            throw ThumbnailFailure(message: "the drawn thumbnail is not a complete JPEG", isFinal: true)
        }
        do {
            let folder = try Directory(path: path)
            try retryingOnInterrupt { fdatasync(draft.file.rawValue) }
            if let name = draft.name {
                try folder.rename(name, to: self.name(of: key))
            } else {
                try link(draft.file, as: key)
            }
            try retryingOnInterrupt { fsync(folder.rawValue) }
        } catch {
            throw ThumbnailFailure(message: "\(path)/\(key).jpg: \(error)", isFinal: false)
        }
    }

    /// Links the file under its final name. An existing thumbnail stays.
    private func link(_ file: SharedDescriptor, as key: ContentKey) throws(Errno) {
        do throws(Errno) {
            try retryingOnInterrupt {
                linkat(AT_FDCWD, "/proc/self/fd/\(file.rawValue)", AT_FDCWD, "\(path)/\(key).jpg", AT_SYMLINK_FOLLOW)
            }
        } catch {
            if error != .fileExists { throw error }
        }
    }

    /// The keys of all contents with a thumbnail, unordered.
    var keys: [ContentKey] {
        let entries = (try? Directory(path: path).entries()) ?? []
        return entries.compactMap { entry in
            let name = String(decoding: entry.name, as: UTF8.self)
            return name.hasSuffix(".jpg") ? ContentKey(hexadecimal: String(name.dropLast(4))) : nil
        }
    }

    /// Removes an unused draft. An unnamed one vanishes by itself.
    nonisolated func discard(_ draft: ThumbnailDraft) async {
        if let name = draft.name { await removeDraft(name) }
    }

    private func removeDraft(_ name: [UInt8]) { try? Directory(path: path).unlink(name) }

    /// Removes a thumbnail. A missing thumbnail is no error.
    func remove(_ key: ContentKey) {
        try? Directory(path: path).unlink(name(of: key))
    }

    private func name(of key: ContentKey) -> [UInt8] { Array("\(key).jpg".utf8) }

    /// A JPEG begins with SOI and ends with EOI (ITU-T T.81, annex B). Blocks lost in a power cut read as zeros.
    private func isWhole(_ file: SharedDescriptor) -> Bool {
        guard let size = try? FileStatus(of: file.rawValue).size, size > 4 else { return false }
        func marker(at offset: UInt64) -> [UInt8] {
            var bytes: [UInt8] = [0, 0]
            let count = try? bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
            return count == 2 ? bytes : []
        }
        return marker(at: 0) == [0xFF, 0xD8] && marker(at: size - 2) == [0xFF, 0xD9]
    }
}
