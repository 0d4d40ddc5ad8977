import Glibc
import LinuxSystem
import SystemPackage

/// The place of the control socket, and whether it is free.
struct ControlSocketPath: Sendable {
    let path: String

    init(_ path: String) {
        self.path = path
    }

    /// Makes the socket's directory where it is missing, trusts only one of this user's, and sees to it that no other
    /// program listens there: binding would take the socket from it.
    func prepare() throws(AgentFailure) {
        try makeDirectory()
        guard let status = try? FileStatus(path: path) else { return }
        guard status.kind == .socket else { throw refusal("something that is no socket is in the way") }
        do throws(Errno) {
            _ = try UnixSocket.connect(to: path)
        } catch {
            switch error {
            case .connectionRefused, .noSuchFileOrDirectory: return
            default: throw refusal("\(error)")
            }
        }
        throw .cannotCreate(path: path, reason: "another agent listens there; give each a control.socket of its own")
    }

    /// Makes a directory that only this user gets into, to bind the socket in: until its own mode is set, anybody whom
    /// the umask lets could connect.
    ///
    /// - Returns: the path to bind to; the socket's own if the other one would be too long for a socket.
    func makeDraft() throws(AgentFailure) -> String {
        guard draft.utf8.count <= Self.longest else { return path }
        removeDraft()
        guard mkdir(draftDirectory, 0o700) == 0 else { throw refusal("\(Errno(rawValue: errno))") }
        return draft
    }

    /// Gives the socket its mode and, where it was bound in a directory of its own, its place.
    ///
    /// - Throws: `Errno` of chmod(2) or rename(2).
    func publish(_ bound: String) throws(Errno) {
        try retryingOnInterrupt { chmod(bound, 0o600) }
        guard bound != path else { return }
        try retryingOnInterrupt { rename(bound, path) }
        removeDraft()
    }

    /// Removes what is left of a draft.
    func removeDraft() {
        unlink(draft)
        rmdir(draftDirectory)
    }

    /// man 7 unix: 108 bytes with the NUL.
    private static let longest = 107

    private var draftDirectory: String {
        let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        return path[..<name] + "." + path[name...] + ".d"
    }

    private var draft: String { draftDirectory + "/s" }

    /// Why the socket can't be had, with what to do.
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
