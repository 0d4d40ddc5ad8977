import LinuxSystem
import SystemPackage
import UploadCore

/// Which files are taken: the rules of `[intake]`, as decisions without I/O.
struct IntakeRules: Equatable, Sendable {
    /// Whether files that are neither picture nor video are rejected.
    var mediaOnly: Bool
    /// Larger files are rejected; bytes.
    var maxFileSize: UInt64
    /// Names that produce nothing at all.
    var ignore: [GlobPattern]
    /// Directory whose files are never looked at (`intake.move_to`).
    var moveTo: RelativePath?

    /// How the name of every sidecar ends.
    static let sidecarSuffix = Array(".outbox.json".utf8)

    /// Whether a path produces nothing: no sidecar, no upload.
    func isIgnored(_ path: RelativePath) -> Bool {
        let name = path.name
        if name.count >= Self.sidecarSuffix.count,
            name.suffix(Self.sidecarSuffix.count).elementsEqual(Self.sidecarSuffix)
        {
            return true
        }
        if SidecarName.isTemporary(name) { return true }
        if let moveTo, path.isWithin(moveTo) { return true }
        if path.isWithin(HoldingArea.directory) { return true }
        return ignore.contains { $0.matches(name: name) }
    }

    /// Why a file is not taken, as far as its size tells; nil when it may be.
    func objection(toSize size: UInt64) -> FileError? {
        if size == 0 {
            return FileError(code: "empty", message: "the file is empty", retryable: false)
        }
        if size > maxFileSize {
            let message = "\(size) bytes are more than intake.max_file_size allows (\(maxFileSize))"
            return FileError(code: "too_large", message: message, retryable: false)
        }
        return nil
    }

    /// Why a file is not taken, as far as its type tells; nil when it may be.
    ///
    /// - Parameter picture: the name of the picture's format, where it is one that is not taken.
    func objection(toType type: MediaType, picture: String? = nil) -> FileError? {
        guard mediaOnly, type.kind == .other else { return nil }
        let message =
            picture.map {
                "\($0) pictures are not taken; convert the file, or set intake.media_only = false to take any file"
            }
            ?? "neither a picture nor a video; intake.media_only = false takes any file"
        return FileError(code: "unsupported_type", message: message, retryable: false)
    }

    /// Why something that is not a regular file is not taken.
    static func objection(toKind kind: FileStatus.Kind) -> FileError {
        switch kind {
        case .symbolicLink:
            FileError(code: "symlink", message: "a symbolic link; only regular files are taken", retryable: false)
        case .fifo: notRegular("a FIFO")
        case .socket: notRegular("a socket")
        case .device: notRegular("a device")
        case .directory, .regular: notRegular("not a regular file")
        }
    }

    private static func notRegular(_ what: String) -> FileError {
        FileError(code: "not_regular_file", message: "\(what); only regular files are taken", retryable: false)
    }

    /// What the ledger's `intake/rules` setting holds: when it differs, files that were rejected are judged again.
    var fingerprint: [UInt8] { Array("\(mediaOnly) \(maxFileSize)".utf8) }
}
