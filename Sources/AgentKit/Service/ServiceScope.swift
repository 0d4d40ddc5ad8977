import Glibc

/// The service manager that runs the agent.
public enum ServiceScope: Equatable, Sendable {
    /// The user's own service manager.
    case user
    /// The system's service manager. The agent runs as this user, never as root.
    case system(ServiceAccount)
}

/// A user of the system.
public struct ServiceAccount: Equatable, Sendable {
    /// The name in the user database.
    public var name: String
    /// The user id.
    public var userID: UInt32
    /// The user's primary group id.
    public var groupID: UInt32
    /// The home directory.
    public var home: String

    /// Creates an account.
    public init(name: String, userID: UInt32, groupID: UInt32, home: String) {
        self.name = name
        self.userID = userID
        self.groupID = groupID
        self.home = home
    }

    /// Looks up a user by name; nil if unknown (man 3 getpwnam).
    public init?(named name: String) {
        guard let entry = getpwnam(name) else { return nil }
        self.init(entry.pointee)
    }

    /// Looks up a user by id; nil if unknown.
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
