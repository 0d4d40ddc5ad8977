package import LinuxSystem
package import Text
package import UploadCore

/// Decides which files are accepted, by the rules of `[intake]`. Performs no I/O.
package struct IntakeRules: Equatable, Sendable {
    /// Whether files that are neither picture nor video are rejected.
    var mediaOnly: Bool
    /// Maximum file size in bytes. Larger files are rejected.
    var maxFileSize: UInt64
    /// Names that are ignored: no sidecar, no upload.
    var ignore: [GlobPattern]
    /// Directory whose files are ignored (`intake.move_to`).
    var moveTo: RelativePath?

    /// The codes of rejections, explained in docs/errors.md.
    enum Reason: String, CaseIterable {
        case empty
        case tooLarge = "too_large"
        case unsupportedType = "unsupported_type"
        case symlink
        case notRegularFile = "not_regular_file"
    }

    /// Creates rules: see the properties.
    package init(mediaOnly: Bool, maxFileSize: UInt64, ignore: [GlobPattern], moveTo: RelativePath? = nil) {
        self.mediaOnly = mediaOnly
        self.maxFileSize = maxFileSize
        self.ignore = ignore
        self.moveTo = moveTo
    }

    /// The directory in which files grow that come over the control interface. The watch never looks into it.
    package static let dropArea = RelativePath(".outbox-drops") ?? .root

    /// The suffix of all sidecar names.
    static let sidecarSuffix = Array(".outbox.json".utf8)

    /// Whether a path is ignored: no sidecar, no upload.
    package func isIgnored(_ path: RelativePath) -> Bool {
        let name = path.name
        if name.count >= Self.sidecarSuffix.count,
            name.suffix(Self.sidecarSuffix.count).elementsEqual(Self.sidecarSuffix)
        {
            return true
        }
        if SidecarName.isTemporary(name) { return true }
        if let moveTo, path.isWithin(moveTo) { return true }
        if path.isWithin(HoldingArea.directory) || path.isWithin(Self.dropArea) { return true }
        return ignore.contains { $0.matches(name: name) }
    }

    /// Returns why a file of this size is rejected; `nil` if the size is accepted.
    package func objection(toSize size: UInt64) -> FileError? {
        if size == 0 {
            return Self.error(.empty, "the file is empty")
        }
        if size > maxFileSize {
            return Self.error(.tooLarge, "\(size) bytes are more than intake.max_file_size allows (\(maxFileSize))")
        }
        return nil
    }

    /// Returns why a file of this type is rejected; `nil` if the type is accepted.
    ///
    /// - Parameter picture: the name of the picture's format, if the format is known but unsupported.
    package func objection(toType type: MediaType, picture: String? = nil) -> FileError? {
        guard mediaOnly, type.kind == .other else { return nil }
        let message =
            picture.map {
                "\($0) pictures are not taken; convert the file, or set intake.media_only = false to take any file"
            }
            ?? "neither a picture nor a video; intake.media_only = false takes any file"
        return Self.error(.unsupportedType, message)
    }

    /// Returns why anything but a regular file is rejected.
    package static func objection(toKind kind: FileStatus.Kind) -> FileError {
        switch kind {
        case .symbolicLink: error(.symlink, "a symbolic link; only regular files are taken")
        case .fifo: notRegular("a FIFO")
        case .socket: notRegular("a socket")
        case .device: notRegular("a device")
        case .directory, .regular: notRegular("not a regular file")
        }
    }

    private static func notRegular(_ what: String) -> FileError {
        error(.notRegularFile, "\(what); only regular files are taken")
    }

    private static func error(_ reason: Reason, _ message: String) -> FileError {
        FileError(code: reason.rawValue, message: message, retryable: false)
    }

    /// The ledger's `intake/rules` setting: every property that an objection depends on. If this value differs from that
    /// of the last run, rejected files are judged again at the start. So a new property costs one such scan.
    package var fingerprint: [UInt8] { Array("\(mediaOnly) \(maxFileSize)".utf8) }
}
