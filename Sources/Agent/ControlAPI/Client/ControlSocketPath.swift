import Glibc
import LinuxSystem
import SystemPackage

/// The path of the control socket. Checks whether the path is free.
struct ControlSocketPath: Sendable {
    let path: String

    init(_ path: String) {
        self.path = path
    }

    /// Creates the socket's directory if it is missing, trusts only a directory of this user, and checks that no
    /// other program listens on the socket. Binding would take the socket from that program.
    func prepare() throws(AgentFailure) {
        try makeDirectory()
        guard let status = try? FileStatus(path: path) else { return }
        guard status.kind == .socket else { throw refusal("another file is in the way") }
        do throws(Errno) {
            _ = try UnixSocket.connect(to: path)
        } catch {
            switch error {
            case .connectionRefused, .noSuchFileOrDirectory: return
            default: throw refusal("\(error)")
            }
        }
        throw .cannotCreate(path: path, reason: "another agent listens there; give each agent its own control.socket")
    }

    /// Creates a private directory to bind the socket in. Until the socket has its own mode, the umask might let
    /// anybody connect.
    ///
    /// - Returns: the path to bind to; the final path if the other one would be too long for a socket.
    func makeDraft() throws(AgentFailure) -> String {
        guard draft.utf8.count <= Self.longest else { return path }
        removeDraft()
        guard mkdir(draftDirectory, 0o700) == 0 else { throw refusal("\(Errno(rawValue: errno))") }
        return draft
    }

    /// Sets the socket's mode, and moves the socket to its final path if it was bound elsewhere.
    ///
    /// - Throws: `Errno` of chmod(2) or rename(2).
    func publish(_ bound: String) throws(Errno) {
        try retryingOnInterrupt { chmod(bound, 0o600) }
        guard bound != path else { return }
        try retryingOnInterrupt { rename(bound, path) }
        removeDraft()
    }

    /// Removes the remains of a draft.
    func removeDraft() {
        unlink(draft)
        rmdir(draftDirectory)
    }

    /// Maximum length of a path: 108 bytes including the NUL (man 7 unix).
    private static let longest = 107

    private var draftDirectory: String {
        let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        return path[..<name] + "." + path[name...] + ".d"
    }

    private var draft: String { draftDirectory + "/s" }

    /// Makes the error for an unavailable socket, with advice.
    func refusal(_ reason: String) -> AgentFailure {
        .cannotCreate(path: path, reason: "\(reason); set control.socket to a path in a directory of your own")
    }

    private func makeDirectory() throws(AgentFailure) {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        if mkdir(directory.isEmpty ? "/" : directory, 0o700) == 0 { return }
        guard let status = try? FileStatus(path: directory), status.kind == .directory, status.owner == geteuid() else {
            throw refusal("its directory is missing or belongs to another user")
        }
    }
}

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
