import LinuxSystem

/// Names of users in messages.
package enum UserName {
    /// Returns `the user anna`, or `user id 1042` if the user database has no name.
    package static func shown(_ user: UInt32) -> String {
        ServiceAccount(userID: user).map { "the user \(DisplayText.escaped($0.name))" } ?? "user id \(user)"
    }
}
