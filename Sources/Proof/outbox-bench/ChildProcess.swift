import Glibc
import SystemPackage

/// A started program, with its output in a file.
final class ChildProcess {
    /// The cost of a program that has ended.
    struct Cost {
        /// User and system time including child processes, in seconds.
        let cpu: Double
        /// The highest anonymous memory, in bytes.
        let peakMemory: Int64
    }

    let name: String
    let pid: pid_t
    let log: String
    let peakMemory: PeakMemory
    private var ended = false

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - log: The file for the program's output.
    ///   - environment: Variables in addition to the inherited ones.
    init(_ program: String, _ arguments: [String], log: String, environment: [String: String] = [:]) throws {
        name = program.split(separator: "/").last.map(String.init) ?? program
        self.log = log
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        var pid: pid_t = 0
        let code = Self.withCStrings([program] + arguments) { argv in
            Self.withCStrings(Self.inherited.merging(environment) { $1 }.map { "\($0)=\($1)" }) { envp in
                posix_spawn(&pid, program, &actions, nil, argv, envp)
            }
        }
        guard code == 0 else { throw Failure("\(program): \(Errno(rawValue: code))") }
        self.pid = pid
        peakMemory = PeakMemory(of: ProcessReading(pid: pid))
    }

    var reading: ProcessReading { ProcessReading(pid: pid) }

    /// Waits until the program ends by itself.
    ///
    /// - Throws: `Failure` if the exit status is not 0, or the program does not end within `patience`.
    func finish(within patience: Duration) throws -> Cost {
        let deadline = ContinuousClock.now + patience
        while ContinuousClock.now < deadline {
            if let (status, cpu) = try reap() {
                guard status == 0 else { throw Failure("\(name) failed (wait status \(status)): \(lastWords)") }
                return Cost(cpu: cpu, peakMemory: peakMemory.bytes)
            }
            usleep(1000)
        }
        stop()
        throw Failure("\(name) did not end within \(patience)")
    }

    /// Waits for an output line with this beginning, and returns the rest of the line.
    func announcement(_ beginning: String) throws -> String {
        for _ in 0..<3000 {
            try checkRunning()
            let lines = TextFile.read(log)?.split(separator: "\n", omittingEmptySubsequences: false).dropLast() ?? []
            if let line = lines.first(where: { $0.hasPrefix(beginning) }) {
                return String(line.dropFirst(beginning.count))
            }
            usleep(10_000)
        }
        throw Failure("\(name) did not print \"\(beginning)…\" within 30 s: \(lastWords)")
    }

    /// - Throws: `Failure` if the program has ended.
    func checkRunning() throws {
        guard try !ended && reap() == nil else { throw Failure("\(name) ended: \(lastWords)") }
    }

    /// Stops the program with SIGTERM, and after 10 s with SIGKILL.
    ///
    /// - Returns: Whether the program ended without SIGKILL.
    @discardableResult func stop() -> Bool {
        guard !ended else { return true }
        kill(pid, SIGTERM)
        for _ in 0..<1000 {
            _ = try? reap()
            if ended { return true }
            usleep(10_000)
        }
        kill(pid, SIGKILL)
        while waitpid(pid, nil, 0) < 0, errno == EINTR {}
        ended = true
        return false
    }

    /// Returns status and CPU seconds if the program has ended since the last call.
    private func reap() throws -> (status: Int32, cpu: Double)? {
        var status: Int32 = 0
        var usage = rusage()
        let found = wait4(pid, &status, WNOHANG, &usage)
        if found == 0 { return nil }
        guard found == pid else { throw Failure.system("waiting for \(name)") }
        ended = true
        return (status, Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime))
    }

    private var lastWords: String {
        let text = TextFile.read(log) ?? ""
        return String(text.suffix(600).split(separator: "\n").suffix(4).joined(separator: " | "))
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }

    /// This program's environment, without variables that change a contender's behaviour.
    private static var inherited: [String: String] {
        var variables: [String: String] = [:]
        for entry in (TextFile.read("/proc/self/environ") ?? "").split(separator: "\0") {
            let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            let name = parts[0].uppercased()
            if name.hasPrefix("OUTBOX_") || name.hasPrefix("RCLONE_") || name.hasSuffix("_PROXY") { continue }
            variables[String(parts[0])] = String(parts[1])
        }
        return variables
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}

/// The reason why a measurement failed.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Returns a failure with the current `errno`.
    static func system(_ what: String) -> Failure {
        Failure("\(what): \(Errno(rawValue: errno))")
    }
}
