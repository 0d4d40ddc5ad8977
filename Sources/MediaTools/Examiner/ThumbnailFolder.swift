import CLinux
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// Why there is no thumbnail.
struct ThumbnailFailure: Error, Equatable {
    /// For people, one line.
    var message: String
    /// Whether another attempt would fail as well.
    var isFinal: Bool
}

/// A thumbnail that is being drawn.
struct ThumbnailDraft: Sendable {
    /// Where it is drawn, open for reading and writing.
    let file: SharedDescriptor
    /// Its name for the time being, where it needs one.
    fileprivate let name: [UInt8]?
}

/// `<state>/thumbnails`: one `<key>.jpg` for each content, whole or not there. Files are touched on a thread of its own.
actor ThumbnailFolder {
    private let path: String
    private let thread = SerialThread(name: "thumbnails")
    /// Whether the file system has files without a name, as far as is known (man 2 open, O_TMPFILE).
    private var hasNamelessFiles: Bool
    private var lastDraft = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - path: absolute.
    ///   - hasNamelessFiles: false where the file system is known to have none, such as NFS.
    init(path: String, hasNamelessFiles: Bool = true) {
        self.path = path
        self.hasNamelessFiles = hasNamelessFiles
    }

    /// Whether there is a thumbnail. One that a power cut left unfinished counts as none and is removed.
    func has(_ key: ContentKey) -> Bool {
        guard let folder = try? Directory(path: path),
            let file = try? folder.open(name(of: key), flags: O_RDONLY)
        else { return false }
        if isWhole(SharedDescriptor(file)) { return true }
        try? folder.unlink(name(of: key))
        return false
    }

    /// A file for a thumbnail that has no name yet, and goes if it never gets one. Where the file system has no such
    /// files it has a name of its own until ``keep(_:as:)`` or ``discard(_:)``. The directory is made where it is missing.
    func newDraft() throws(ThumbnailFailure) -> ThumbnailDraft {
        do {
            try Directory.create(path)
            if let file = try namelessFile() { return ThumbnailDraft(file: file, name: nil) }
            lastDraft += 1
            // Counted from 1 in each life of the agent, so that what a power cut left is used again.
            let name = Array(".draft-\(lastDraft)".utf8)
            let file = try Directory(path: path).open(name, flags: O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
            return ThumbnailDraft(file: SharedDescriptor(file), name: name)
        } catch {
            throw ThumbnailFailure(message: "\(path): no file can be made: \(error)", isFinal: false)
        }
    }

    /// man 2 open: EOPNOTSUPP comes from the file system, EISDIR from a layer that has never heard of O_TMPFILE.
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

    /// Gives a finished thumbnail its name, for good: once this returns, not even a power cut takes it away.
    ///
    /// - Throws: ``ThumbnailFailure``, also where it is no whole JPEG, whatever its maker says.
    func keep(_ draft: ThumbnailDraft, as key: ContentKey) throws(ThumbnailFailure) {
        guard isWhole(draft.file) else {
            throw ThumbnailFailure(message: "what was drawn is no whole JPEG", isFinal: true)
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

    /// A thumbnail that is there already stays.
    private func link(_ file: SharedDescriptor, as key: ContentKey) throws(Errno) {
        do throws(Errno) {
            try retryingOnInterrupt {
                linkat(AT_FDCWD, "/proc/self/fd/\(file.rawValue)", AT_FDCWD, "\(path)/\(key).jpg", AT_SYMLINK_FOLLOW)
            }
        } catch {
            if error != .fileExists { throw error }
        }
    }

    /// The contents that have one, in no order.
    var keys: [ContentKey] {
        let entries = (try? Directory(path: path).entries()) ?? []
        return entries.compactMap { entry in
            let name = String(decoding: entry.name, as: UTF8.self)
            return name.hasSuffix(".jpg") ? ContentKey(hexadecimal: String(name.dropLast(4))) : nil
        }
    }

    /// Removes what came to nothing.
    func discard(_ draft: ThumbnailDraft) {
        if let name = draft.name { try? Directory(path: path).unlink(name) }
    }

    /// Removes a thumbnail; one that is not there is no error.
    func remove(_ key: ContentKey) {
        try? Directory(path: path).unlink(name(of: key))
    }

    private func name(of key: ContentKey) -> [UInt8] { Array("\(key).jpg".utf8) }

    /// A JPEG begins with its SOI marker and ends with EOI (ITU-T T.81, annex B); what was not written back reads as zeros.
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
