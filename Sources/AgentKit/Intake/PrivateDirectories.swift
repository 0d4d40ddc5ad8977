import LinuxSystem
import Synchronization

/// The agent's own directories: the watch passes them over with everything in them, wherever they appear below the
/// outbox. A bind mount, or moving one of them there while the agent runs, must not upload the token.
final class PrivateDirectories: Sendable {
    private struct Found {
        var identities: Set<DirectoryIdentity> = []
        /// When they were looked up, on CLOCK_BOOTTIME.
        var time: UInt64?
    }

    /// Directories may be replaced while the agent runs; this often they are looked up anew, in nanoseconds.
    private static let validity: UInt64 = 1_000_000_000

    private let paths: [String]
    /// What the paths led to at start. A directory that is moved into the outbox is not at its path any more.
    private let original: Set<DirectoryIdentity>
    private let found = Mutex(Found())

    /// The directories of a configuration, which are there by now.
    init(_ configuration: Configuration) {
        let state = configuration.state
        paths =
            [state, state + "/thumbnails", state + "/portrait", configuration.avatars]
            + [configuration.sidecars.directory].compactMap { $0 }
        original = Self.identities(of: [state])
    }

    /// Whether this is one of the directories.
    func contains(_ directory: FileStatus) -> Bool {
        let identity = DirectoryIdentity(directory)
        if original.contains(identity) { return true }
        return found.withLock { found in
            let now = bootTimeNanoseconds()
            if found.time.map({ now - $0 > Self.validity }) ?? true {
                found = Found(identities: Self.identities(of: paths), time: now)
            }
            return found.identities.contains(identity)
        }
    }

    private static func identities(of paths: [String]) -> Set<DirectoryIdentity> {
        Set(paths.compactMap { try? FileStatus(path: $0) }.map(DirectoryIdentity.init))
    }
}
