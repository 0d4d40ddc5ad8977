import Glibc
import LinuxSystem
import SystemPackage

/// `<state>/paused`: there while everything is paused, so that `pause --all` outlasts the loss of the ledger.
///
/// Only a start that lost its ledger reads the file; otherwise the ledger's setting counts.
struct PauseMark: Sendable {
    static let name = "paused"

    private let path: String

    /// The mark in a state directory.
    init(state: String) {
        path = "\(state)/\(Self.name)"
    }

    /// Whether everything was paused when the mark was set last.
    var isSet: Bool { (try? FileStatus(path: path)) != nil }

    /// Makes or removes the file; a disk that takes no file costs nothing as long as the ledger is there.
    func set(_ isPaused: Bool) {
        if isPaused {
            _ = try? SharedDescriptor(opening: path, flags: O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o600)
        } else {
            unlink(path)
        }
    }
}
