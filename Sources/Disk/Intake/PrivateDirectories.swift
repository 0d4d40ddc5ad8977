package import LinuxSystem
import Synchronization

/// The agent's own directories. The watch skips them with their content, wherever they appear below the outbox.
/// Otherwise a bind mount, or moving one of them there while the agent runs, would upload the token.
package final class PrivateDirectories: Sendable {
    private struct Found {
        var identities: Set<DirectoryIdentity> = []
        /// Time of the look-up, on CLOCK_BOOTTIME.
        var time: UInt64?
    }

    /// Interval between look-ups, in nanoseconds. Directories may be replaced while the agent runs.
    private static let validity: UInt64 = 1_000_000_000

    private let paths: [String]
    /// The state directory at start. After a move into the outbox, a directory is no longer at its path.
    private let original: Set<DirectoryIdentity>
    private let found = Mutex(Found())

    /// - Parameters:
    ///   - state: the state directory, which exists already.
    ///   - others: directories that may be outside of it.
    package init(state: String, others: [String]) {
        paths = [state, state + "/thumbnails", state + "/portrait"] + others
        original = Self.identities(of: [state])
    }

    /// Whether a directory is one of the agent's own.
    package func contains(_ directory: FileStatus) -> Bool {
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
