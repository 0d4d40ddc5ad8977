import Glibc
import LinuxSystem

/// A process of `outbox run` on this machine, as /proc shows it (man 5 proc).
package struct AgentProcess: Equatable, Sendable {
    /// The process id.
    package var pid: Int32
    /// The user id that the agent runs as.
    package var user: UInt32
    /// Absolute path given as `--config`; nil for a configuration in a usual place.
    package var configuration: String?
    /// The systemd unit of the process; nil if the agent was started by hand.
    package var unit: String?

    /// Reads a process's command line (words that end in a null character) and control groups.
    ///
    /// - Returns: nil for a process of another program.
    package init?(pid: Int32, user: UInt32, commandLine: String, cgroup: String?) {
        let words = commandLine.split(separator: "\0").map(String.init)
        guard words.count > 1, words[0].split(separator: "/").last == "outbox", words[1] == "run" else { return nil }
        self.pid = pid
        self.user = user
        let named = words.indices.lazy.compactMap { index -> String? in
            if words[index].hasPrefix("--config=") { return String(words[index].dropFirst("--config=".count)) }
            return words[index] == "--config" ? words.dropFirst(index + 1).first : nil
        }
        configuration = named.first.flatMap { $0.hasPrefix("/") ? $0 : nil }
        unit = cgroup.flatMap(Self.unit(inCgroup:))
    }

    /// Reads /proc; nil for a process of another program, or one that has ended.
    package init?(pid: Int32) {
        let directory = "/proc/\(pid)"
        guard let status = try? FileStatus(path: directory), let command = ProcFile.text(directory + "/cmdline") else {
            return nil
        }
        self.init(
            pid: pid, user: status.owner, commandLine: command, cgroup: ProcFile.text(directory + "/cgroup"))
    }

    /// All agents on this machine, by process id.
    package static func all() -> [AgentProcess] {
        ProcFile.names(in: "/proc").compactMap { Int32($0) }.sorted().compactMap(AgentProcess.init(pid:))
    }

    /// The unit of a process, from the last part of its control group: `0::/user.slice/…/outbox.service`.
    package static func unit(inCgroup text: String) -> String? {
        guard let line = text.split(separator: "\n").first(where: { $0.hasSuffix(".service") }) else { return nil }
        return line.split(separator: "/").last.map { String($0.dropLast(".service".count)) }
    }

    /// Returns the process that holds the lock of a state directory; nil if the lock is free.
    ///
    /// Reads /proc/locks (man 5 proc_locks). Trying the lock instead could turn away an agent that starts at this
    /// moment.
    package static func holder(ofState state: String) -> Int32? {
        let path = state + "/lock"
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
