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

/// `<state>/thumbnails`: one `<key>.jpg` for each content, whole or not there. Files are touched on a thread of its own.
actor ThumbnailFolder {
    private let path: String
    private let thread = SerialThread(name: "thumbnails")

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// - Parameter path: absolute.
    init(path: String) {
        self.path = path
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

    /// A file for a thumbnail that has no name yet, and goes if it never gets one (man 2 open, O_TMPFILE). The directory
    /// is made where it is missing.
    func newFile() throws(ThumbnailFailure) -> SharedDescriptor {
        do {
            try Directory.create(path)
            return try SharedDescriptor(opening: path, flags: outbox_o_tmpfile | O_RDWR, mode: 0o600)
        } catch {
            throw ThumbnailFailure(message: "\(path): no file can be made: \(error)", isFinal: false)
        }
    }

    /// Gives a finished file its name. A thumbnail that is there already stays.
    func keep(_ file: SharedDescriptor, as key: ContentKey) throws(ThumbnailFailure) {
        do {
            try retryingOnInterrupt {
                linkat(AT_FDCWD, "/proc/self/fd/\(file.rawValue)", AT_FDCWD, "\(path)/\(key).jpg", AT_SYMLINK_FOLLOW)
            }
        } catch {
            if error == .fileExists { return }
            throw ThumbnailFailure(message: "\(path)/\(key).jpg: \(error)", isFinal: false)
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

    /// Removes a thumbnail; one that is not there is no error.
    func remove(_ key: ContentKey) {
        try? Directory(path: path).unlink(name(of: key))
    }

    private func name(of key: ContentKey) -> [UInt8] { Array("\(key).jpg".utf8) }

    /// A JPEG ends with its EOI marker (ITU-T T.81, annex B); what was not written back reads as zeros.
    private func isWhole(_ file: SharedDescriptor) -> Bool {
        guard let size = try? FileStatus(of: file.rawValue).size, size > 4 else { return false }
        var end: [UInt8] = [0, 0]
        let count = try? end.withUnsafeMutableBytes { try file.read(into: $0, at: size - 2) }
        return count == 2 && end == [0xFF, 0xD9]
    }
}
