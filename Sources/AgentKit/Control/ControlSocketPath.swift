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
