import AgentConfiguration
import AgentSupport
import ControlAPI
import LinuxSystem

extension AgentFacts {
    /// Asks the agent for its health, and the kernel for the holder of its lock.
    static func probe(_ configuration: Configuration, environment: [String: String]) async -> AgentFacts {
        let socket = configuration.controlSocket(runtimeDirectory: environment["XDG_RUNTIME_DIR"])
        let state = configuration.state
        let answer = await TimeLimit.wait(.seconds(10)) { () -> Answer in
            do throws(ControlError) {
                return .healthy(try await ControlClient(socket: socket, stateDirectory: state).health())
            } catch {
                if case .notRunning = error { return .notRunning }
                if case .notTrusted = error { return .foreign("\(error)") }
                if case .refused(_, let reason) = error { return .hindered(reason) }
                return .failed("\(error)")
            }
        }
        let lock = state + "/lock"
        let holder = await TimeLimit.run("doctor-lock", .seconds(10)) { lockHolder(of: lock) }
        return AgentFacts(socket: socket, answer: answer ?? .late, lockHolder: holder ?? nil)
    }

    /// Finds the holder of the flock(2) in /proc/locks (man 5 proc_locks). Trying the lock instead could turn away an
    /// agent that starts at this moment.
    private static func lockHolder(of path: String) -> Int32? {
        guard let status = try? FileStatus(path: path), status.kind == .regular, let text = ProcFile.text(path),
            let pid = Int32(text.prefix { $0.isNumber }), let locks = ProcFile.text("/proc/locks")
        else { return nil }
        let isHeld = locks.split(separator: "\n").contains { line in
            let fields = line.split(separator: " ")
            return fields.contains("FLOCK") && fields.contains("\(pid)")
                && fields.contains { $0.hasSuffix(":\(status.inode)") }
        }
        return isHeld ? pid : nil
    }
}
