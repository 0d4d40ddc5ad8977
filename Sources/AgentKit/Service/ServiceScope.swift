import Glibc

/// Whose service manager runs the agent.
public enum ServiceScope: Equatable, Sendable {
    /// That of the user who installs it.
    case user
    /// The system's, as this user, who is not root.
    case system(ServiceAccount)
}

/// A user of the system.
public struct ServiceAccount: Equatable, Sendable {
    /// The name as the user database has it.
    public var name: String
    /// The user id.
    public var userID: UInt32
    /// The id of the user's own group.
    public var groupID: UInt32
    /// The home directory.
    public var home: String

    /// Describes a user.
    public init(name: String, userID: UInt32, groupID: UInt32, home: String) {
        self.name = name
        self.userID = userID
        self.groupID = groupID
        self.home = home
    }

    /// The user with a name; nil when there is none (man 3 getpwnam).
    public init?(named name: String) {
        guard let entry = getpwnam(name) else { return nil }
        self.init(entry.pointee)
    }

    /// The user with an id; nil when there is none.
    public init?(userID: UInt32) {
        guard let entry = getpwuid(userID) else { return nil }
        self.init(entry.pointee)
    }

    private init(_ entry: passwd) {
        name = entry.pw_name.map { String(cString: $0) } ?? "\(entry.pw_uid)"
        userID = entry.pw_uid
        groupID = entry.pw_gid
        home = entry.pw_dir.map { String(cString: $0) } ?? "/"
    }
}
