import Glibc
import LinuxSystem
import SystemPackage

/// The result of a program that ended.
package struct CommandOutcome: Equatable, Sendable {
    /// Exit status; 128 plus the signal's number if a signal ended the program.
    package var status: Int32
    /// Standard output and standard error, in one text.
    package var output: String

    /// Creates a result.
    package init(status: Int32, output: String) {
        self.status = status
        self.output = output
    }
}

/// Runs system programs.
package protocol CommandRunner: Sendable {
    /// Runs a program and waits for its end. Blocks.
    ///
    /// - Parameter command: The program's name and its arguments. The name is looked up in `PATH` unless it contains a
    ///   slash.
    /// - Returns: nil if the program does not exist or can't be started.
    func run(_ command: [String]) -> CommandOutcome?
}

/// Runs programs as children of this process.
package struct ChildCommandRunner: CommandRunner {
    private let environment: [String: String]

    /// - Parameter environment: The children's environment. Its `PATH` is used to find programs.
    package init(environment: [String: String]) {
        self.environment = environment
    }

    /// Runs a program and waits for its end. Blocks.
    package func run(_ command: [String]) -> CommandOutcome? {
        var ends: [Int32] = [-1, -1]
        guard let name = command.first, let program = find(name), pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let reading = Descriptor(owning: ends[0])
        guard let child = start(program, command, output: Descriptor(owning: ends[1])) else { return nil }
        let output = (try? readAll(from: reading.rawValue)) ?? []
        var status: Int32 = 0
        _ = try? retryingOnInterrupt { waitpid(child, &status, 0) }
        // man 2 waitpid: the macros WTERMSIG and WEXITSTATUS, which Swift can't import.
        let signal = status & 0x7F
        return CommandOutcome(
            status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal, output: String(decoding: output, as: UTF8.self))
    }

    private func find(_ name: String) -> String? {
        if name.contains("/") { return access(name, X_OK) == 0 ? name : nil }
        let path = environment["PATH"] ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return path.split(separator: ":").lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    /// Consumes the pipe's write end: if this process kept it open, the read end would never reach end of file.
    private func start(_ program: String, _ command: [String], output: consuming Descriptor) -> pid_t? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output.rawValue, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.rawValue, STDERR_FILENO)
        let arguments = command.map { strdup($0) }
        // The agent parses the output, so translations, colours and the pager are off.
        let plain = ["LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "cat"]
        let variables = environment.merging(plain) { $1 }.map { strdup("\($0)=\($1)") }
        defer { for text in arguments + variables { free(text) } }
        var child = pid_t()
        guard posix_spawn(&child, program, &actions, nil, arguments + [nil], variables + [nil]) == 0 else { return nil }
        return child
    }
}
