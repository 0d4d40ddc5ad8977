import Glibc
import LinuxSystem

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

    /// Runs a program and waits for its end. Blocks. The program ends with this thread at the latest.
    package func run(_ command: [String]) -> CommandOutcome? {
        guard let name = command.first, let program = find(name), let output = try? OutputPipe(),
            let process = start(program, Array(command.dropFirst()), output)
        else { return nil }
        var text: [UInt8] = []
        var hasEnded = false
        while !hasEnded {
            hasEnded = waitUntilReadable([process.pollDescriptor, output.reading.rawValue])[0]
            _ = output.drain { text.append(contentsOf: $0) }
        }
        let status =
            switch process.end() {
            case .exited(let code): code
            case .killed(let signal): 128 + signal
            }
        return CommandOutcome(status: status, output: String(decoding: text, as: UTF8.self))
    }

    private func find(_ name: String) -> String? {
        if name.contains("/") { return access(name, X_OK) == 0 ? name : nil }
        let path = environment["PATH"] ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return path.split(separator: ":").lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    private func start(_ program: String, _ arguments: [String], _ output: OutputPipe) -> LimitedProcess? {
        // The agent parses the output, so translations, colours and the pager are off.
        let plain = ["LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "cat"]
        guard let nothing = try? SharedDescriptor(opening: "/dev/null", flags: O_RDONLY) else { return nil }
        return try? LimitedProcess(
            ProcessCommand(
                program: program, arguments: arguments, environment: environment.merging(plain) { $1 },
                descriptors: [nothing, output.writing, output.writing],
                limits: ProcessLimits(openFiles: nil, niceness: 0)))
    }
}
