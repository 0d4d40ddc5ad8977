import CLinux
import Glibc
import LinuxSystem
import SystemPackage
package import UploadCore

/// The session that `login` stores: `<state>/token` and `<state>/user`, readable by their owner only.
///
/// Each file is written to a temporary file, made durable and renamed. Readers see either the old file or the new
/// one. Calls block on the disk.
package struct SessionStore: Sendable {
    private let state: String

    private static let token = "token"
    private static let user = "user"
    private static let signedOut = "signed-out"
    private static let turns = "turns"

    /// Creates a store in a state directory, which may be missing yet.
    package init(stateDirectory: String) {
        state = stateDirectory
    }

    /// Returns the stored session; `nil` if the session is missing or invalid.
    func load() -> StoredSession? {
        guard let token = read(Self.token) else { return nil }
        return try? StoredSession(token: token, user: storedUser)
    }

    /// Whether the session was discarded and no other was stored since. Nothing may be sent then, not even without a
    /// token.
    var isSignedOut: Bool {
        (try? FileStatus(path: "\(state)/\(Self.signedOut)")) != nil && (try? FileStatus(path: "\(state)/token")) == nil
    }

    /// Former accounts and when their turns ended, oldest first. The current account is not included.
    package var turns: [Ownership.Turn] { Ownership.turns(read(Self.turns) ?? "") }

    /// Records that an account's turn ends now.
    ///
    /// The kernel stamps files with a clock that ticks every few milliseconds, and with a finer one to tell two
    /// changes apart (multigrain timestamps, since Linux 6.13). The turn therefore ends by the fine clock, and the
    /// call returns once the coarse clock is past that moment. Earlier files have older times, later files do not.
    private func endTurn(of account: String, in directory: Directory) throws(Errno) {
        let end = Self.time(CLOCK_REALTIME)
        while Self.time(CLOCK_REALTIME_COARSE) < end { usleep(1000) }
        let turn = Ownership.Turn(account: account, until: end)
        try Self.replace(Self.turns, with: Ownership.text(of: turns + [turn]), in: directory)
    }

    /// Returns the time of a kernel clock in nanoseconds since 1970.
    private static func time(_ clock: clockid_t) -> Int64 {
        var now = timespec()
        clock_gettime(clock, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }

    private var storedUser: String? {
        read(Self.user).map { String($0.prefix { !$0.isNewline }) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Stores a session in place of the previous one.
    ///
    /// - Throws: `SessionError.inputOutput`.
    package func save(_ session: StoredSession) throws(SessionError) {
        do throws(Errno) {
            let directory = try open()
            // Neither a failure nor a kill may combine one user's name with another user's token.
            let isOther = session.user != nil && storedUser != session.user
            if isOther, try Self.unlink(Self.token, in: directory) {
                try retryingOnInterrupt { fsync(directory.rawValue) }
            }
            if isOther { try endTurn(of: storedUser ?? Ownership.nobody, in: directory) }
            try Self.replace(Self.user, with: session.user, in: directory)
            try Self.replace(Self.token, with: session.token, in: directory)
            _ = try Self.unlink(Self.signedOut, in: directory)
        } catch {
            throw failure(error)
        }
    }

    /// Discards the session and records that nothing may be sent until the next `login`. Works without a session as
    /// well, since a server may require no token.
    ///
    /// - Returns: whether there was a session.
    /// - Throws: `SessionError.inputOutput`.
    @discardableResult
    package func remove() throws(SessionError) -> Bool {
        do throws(Errno) {
            let directory = try open()
            // This comes first: a kill must not remove the token without recording that the user signed out.
            try Self.replace(Self.signedOut, with: "", in: directory)
            let hadToken = try Self.unlink(Self.token, in: directory)
            if let user = storedUser { try endTurn(of: user, in: directory) }
            _ = try Self.unlink(Self.user, in: directory)
            try retryingOnInterrupt { fsync(directory.rawValue) }
            return hadToken
        } catch {
            throw failure(error)
        }
    }

    private func failure(_ error: Errno) -> SessionError {
        .inputOutput(path: state, reason: "\(error); make the directory writable, or set `state`")
    }

    private func open() throws(Errno) -> Directory {
        if (try? FileStatus(path: state)) == nil {
            try Directory.create(state)
            try retryingOnInterrupt { chmod(state, 0o700) }
        }
        return try Directory(path: state)
    }

    private func read(_ name: String) -> String? {
        guard let file = try? SharedDescriptor(opening: "\(state)/\(name)", flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: BearerToken.longest + 2)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return String(validating: bytes.prefix(count), as: UTF8.self)
    }

    /// Writes one line to a file; removes the file if `line` is `nil`.
    private static func replace(_ name: String, with line: String?, in directory: Directory) throws(Errno) {
        guard let line else {
            _ = try unlink(name, in: directory)
            return
        }
        try directory.replace(name, with: Array((line + "\n").utf8), mode: 0o600)
    }

    private static func unlink(_ name: String, in directory: Directory) throws(Errno) -> Bool {
        do throws(Errno) {
            try directory.unlink(Array(name.utf8))
            return true
        } catch {
            if error == .noSuchFileOrDirectory { return false }
            throw error
        }
    }
}
