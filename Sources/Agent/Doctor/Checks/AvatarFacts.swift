import Text

extension DirectoryFacts {
    /// Below this free space, the avatar mirror is unreliable.
    static let leastMirrorSpace: UInt64 = 64 << 20

    /// Findings for the avatar mirror. Uploads don't depend on it.
    var avatarFindings: [Finding] {
        func warning(_ what: String) -> [Finding] {
            [
                Finding(
                    .avatars, .warning,
                    "\(path) \(what): the agent mirrors no pictures and shows no profile picture",
                    remedy: "see `ls -ld \(path)`, or set `avatars` to another directory")
            ]
        }
        switch state {
        case .missing(nil, _):
            return [Finding(.avatars, .note, "\(path) does not exist; the agent creates it when needed")]
        case .missing(let obstacle?, _): return warning("does not exist and can't be created: \(obstacle)")
        case .notADirectory: return warning("is not a directory")
        case .unreachable(let reason): return warning("can't be opened: \(reason)")
        case .present(let present):
            guard present.isReadable, present.isWritable else { return warning("can't be written to") }
            let free = Quantity.size(present.fileSystem.available)
            guard present.fileSystem.available >= Self.leastMirrorSpace, present.fileSystem.freeInodes != 0 else {
                return [
                    Finding(
                        .avatars, .warning, "\(free) left at \(path): mirrored pictures may not fit",
                        remedy: "free space there; `outbox avatar clear` removes mirrored pictures")
                ]
            }
            return [Finding(.avatars, .ok, "\(path) can be written, \(free) left")]
        }
    }
}

/// Whether the configured placeholder picture is usable.
enum PlaceholderFacts: Equatable, Sendable {
    case usable
    case unusable(path: String, reason: String)

    var findings: [Finding] {
        guard case .unusable(let path, let reason) = self else { return [] }
        return [
            Finding(
                .avatars, .warning,
                "the placeholder \(path) can't be used (\(reason)); the agent serves the built-in picture",
                remedy:
                    "set avatar_cache.placeholder to a JPEG, PNG, GIF, WebP or AVIF file of at most 1 MiB, or to \"\"")
        ]
    }
}

/// The symbolic link to the user's picture.
enum CurrentPictureFacts: Equatable, Sendable {
    /// No portrait was dropped yet.
    case none
    case picture(target: String)
    /// The target is missing or no regular file.
    case broken(target: String)
    /// The name exists but is no symbolic link.
    case foreign

    /// - Parameter path: Path of the link.
    func findings(path: String) -> [Finding] {
        switch self {
        case .none: []
        case .picture(let target): [Finding(.portrait, .ok, "\(path) leads to \(target)")]
        case .broken(let target):
            [
                Finding(
                    .portrait, .warning, "\(path) leads to \(target), where there is no picture",
                    remedy: "restart the agent, which repairs the link; if that does not help, drop the picture again")
            ]
        case .foreign:
            [
                Finding(
                    .portrait, .warning, "\(path) is not a symbolic link, so the agent does not replace it",
                    remedy: "mv \(path) \(path).old")
            ]
        }
    }
}
