import Glibc
import LinuxSystem

/// `<state>/paused` exists while everything is paused, so that `pause --all` survives the loss of the ledger.
///
/// Only a start that lost its ledger reads the file. Otherwise the ledger's setting decides.
package struct PauseMark: Sendable {
    static let name = "paused"

    private let path: String

    /// Creates the mark for a state directory.
    package init(state: String) {
        path = "\(state)/\(Self.name)"
    }

    /// Whether the mark exists.
    package var isSet: Bool { (try? FileStatus(path: path)) != nil }

    /// Creates or removes the file. A failure is harmless while the ledger exists.
    package func set(_ isPaused: Bool) {
        if isPaused {
            _ = try? SharedDescriptor(opening: path, flags: O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o600)
        } else {
            unlink(path)
        }
    }
}
