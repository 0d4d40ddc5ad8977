import Glibc
import LinuxSystem

/// The users whose agent a command may talk to: a program that somebody else put on the socket's path could otherwise
/// ask for the token by listening there.
struct ControlPeers: Equatable, Sendable {
    private let users: Set<UInt32>

    /// The command's own user and root. For root also the owner of the state directory, since root looks after the
    /// agents of others.
    ///
    /// - Parameter stateOwner: the owner of the state directory; nil where there is none.
    init(user: UInt32 = geteuid(), stateOwner: UInt32? = nil) {
        var users: Set<UInt32> = [user, 0]
        if user == 0, let stateOwner { users.insert(stateOwner) }
        self.users = users
    }

    /// The users for the agent of a state directory.
    init(stateDirectory: String) {
        self.init(stateOwner: (try? FileStatus(path: stateDirectory))?.owner)
    }

    /// Whether requests may be sent to a program of this user.
    func isTrusted(_ user: UInt32) -> Bool { users.contains(user) }
}

/// Users as messages name them.
enum UserName {
    /// `the user anna`, or `user id 1042` where the user database knows no name.
    static func shown(_ user: UInt32) -> String {
        ServiceAccount(userID: user).map { "the user \(DisplayText.escaped($0.name))" } ?? "user id \(user)"
    }
}
