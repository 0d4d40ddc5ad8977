package import AgentConfiguration
import LinuxSystem
import Text

extension AgentProcess {
    /// Maximum number of agents to name.
    private static let mostNamed = 3

    /// Lines that say how to ask agents other than the one of the configuration, if that one does not run.
    ///
    /// - Parameters:
    ///   - agents: The agents on this machine.
    ///   - user: The user id of this command.
    ///   - invoker: The user id of whoever called sudo; the agents of this user come first.
    package static func advice(_ agents: [AgentProcess], user: UInt32, invoker: UInt32? = nil) -> [String] {
        let (own, others) = (agents.filter { $0.user == invoker }, agents.filter { $0.user != invoker })
        var lines = (own + others).prefix(mostNamed).map { agent in
            let options = agent.configuration.map { " --config " + ShellWord.text($0) } ?? ""
            if agent.user == user {
                return "another agent of yours runs (pid \(agent.pid)): outbox status" + options
            }
            let name = ServiceAccount(userID: agent.user).map { ShellWord.text($0.name) } ?? "'#\(agent.user)'"
            return "an agent of \(UserName.shown(agent.user)) runs (pid \(agent.pid)): sudo -u \(name) outbox status"
                + options
        }
        if agents.count > mostNamed {
            lines.append(
                "and \(Quantity.count(agents.count - mostNamed, "more agent")); `pgrep -af 'outbox run'` lists them")
        }
        return lines
    }
}
