/// Why the agent can't run.
package enum AgentFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// Another agent owns the state directory.
    case alreadyRunning(pid: Int32?, stateDirectory: String)
    /// A needed file or directory can't be created.
    case cannotCreate(path: String, reason: String)
    /// An existing file or directory can't be used.
    case inputOutput(path: String, reason: String)
    /// The configuration demands something impossible or unsupported.
    case configuration(String)
    /// A limit of the process is too low.
    case limit(String)

    /// What failed, why, and what to do next, in one line.
    package var description: String {
        switch self {
        case .alreadyRunning(let pid, let directory):
            let who = pid.map { "with pid \($0) " } ?? ""
            return
                "another agent \(who)already runs on the state directory \(directory); stop it, or set another state directory"
        case .cannotCreate(let path, let reason): return "cannot create \(path): \(reason)"
        case .inputOutput(let path, let reason): return "cannot use \(path): \(reason)"
        case .configuration(let reason), .limit(let reason): return reason
        }
    }
}
