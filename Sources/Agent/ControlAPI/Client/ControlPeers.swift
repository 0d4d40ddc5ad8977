import Glibc
import LinuxSystem

/// The users whose agents a command trusts. Otherwise any program listening on the socket's path could receive the
/// token.
struct ControlPeers: Equatable, Sendable {
    private let users: Set<UInt32>

    /// Trusts the command's own user and root. A command run by root also trusts the owner of the state directory,
    /// since root administers the agents of other users.
    ///
    /// - Parameter stateOwner: the owner of the state directory; `nil` if the directory does not exist.
    init(user: UInt32 = geteuid(), stateOwner: UInt32? = nil) {
        var users: Set<UInt32> = [user, 0]
        if user == 0, let stateOwner { users.insert(stateOwner) }
        self.users = users
    }

    /// Returns the trusted users for the agent of a state directory.
    init(stateDirectory: String) {
        self.init(stateOwner: (try? FileStatus(path: stateDirectory))?.owner)
    }

    /// Whether requests may be sent to a program of this user.
    func isTrusted(_ user: UInt32) -> Bool { users.contains(user) }
}
