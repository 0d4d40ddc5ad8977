import ControlAPI
import Glibc
import LinuxSystem
import SystemPackage

/// The state directory, owned by one process for the lifetime of this object.
///
/// The owner holds a flock(2) on `<state>/lock`, which the kernel releases when the process ends in any way. The pid
/// in the file only serves the message for a second agent.
final class StateDirectory: Sendable {
    let path: String
    private let lock: SharedDescriptor

    /// Creates the directory with mode 0700 if it is missing, and takes ownership.
    init(path: String) throws(AgentFailure) {
        self.path = path
        try Self.create(path)
        let lockPath = path + "/lock"
        do {
            lock = try SharedDescriptor(opening: lockPath, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        } catch {
            throw .cannotCreate(path: lockPath, reason: "\(error); check the permissions of \(path)")
        }
        try Self.take(lock, lockPath, stateDirectory: path)
        let pid = Array("\(getpid())\n".utf8)
        _ = ftruncate(lock.rawValue, 0)
        _ = pid.withUnsafeBytes { pwrite(lock.rawValue, $0.baseAddress, $0.count, 0) }
    }

    /// Gives the lock up, just before the process ends.
    func release() { flock(lock.rawValue, LOCK_UN) }

    /// Whether a process owns the state directory.
    static func isOwned(_ path: String) -> Bool {
        guard let lock = try? SharedDescriptor(opening: path + "/lock", flags: O_RDONLY | O_NOFOLLOW) else {
            return false
        }
        // Whoever takes the lock meanwhile tries again (`take`).
        return flock(lock.rawValue, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    private static func create(_ path: String) throws(AgentFailure) {
        do {
            if (try? FileStatus(path: path)) == nil { try Directory.create(path) }
            guard try FileStatus(path: path).kind == .directory else { throw Errno.notDirectory }
            try retryingOnInterrupt { chmod(path, 0o700) }
        } catch {
            throw .cannotCreate(path: path, reason: "\(error); set `state` to a directory that can be written to")
        }
    }

    /// Takes the lock. If another agent holds the lock, throws an error with its process id.
    ///
    /// Retries for 3 s. The lock may belong to a child process of a killed agent, which releases the lock as soon as
    /// it executes its program. A new owner may not have written its process id yet.
    private static func take(
        _ lock: SharedDescriptor, _ lockPath: String, stateDirectory: String
    ) throws(AgentFailure) {
        for _ in 0..<150 {
            do {
                try retryingOnInterrupt { flock(lock.rawValue, LOCK_EX | LOCK_NB) }
                return
            } catch Errno.wouldBlock {
                if let pid = pid(in: lock), kill(pid, 0) == 0 || errno == EPERM {
                    throw .alreadyRunning(pid: pid, stateDirectory: stateDirectory)
                }
                usleep(20_000)
            } catch {
                throw .inputOutput(path: lockPath, reason: "\(error)")
            }
        }
        throw .alreadyRunning(pid: nil, stateDirectory: stateDirectory)
    }

    private static func pid(in file: SharedDescriptor) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        let text = String(decoding: bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        return Int32(text)
    }
}
