import Glibc

/// A user of the system.
package struct ServiceAccount: Equatable, Sendable {
    /// The name in the user database.
    package var name: String
    /// The user id.
    package var userID: UInt32
    /// The user's primary group id.
    package var groupID: UInt32
    /// The home directory.
    package var home: String

    /// Creates an account.
    init(name: String, userID: UInt32, groupID: UInt32, home: String) {
        self.name = name
        self.userID = userID
        self.groupID = groupID
        self.home = home
    }

    /// Looks up a user by name; nil if unknown (man 3 getpwnam).
    package init?(named name: String) {
        guard let entry = getpwnam(name) else { return nil }
        self.init(entry.pointee)
    }

    /// Looks up a user by id; nil if unknown.
    package init?(userID: UInt32) {
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
