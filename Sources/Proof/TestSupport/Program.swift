internal import Foundation
internal import Glibc

/// A built program started by a test. The program has its own process group and inherits only three descriptors and
/// the given environment. Its output goes to files.
///
/// Deinit kills the process group.
public final class Program: @unchecked Sendable {
    // `@unchecked`: `lock` guards `ended`, the only mutable state.
    private let lock = NSLock()
    private var ended: Ending?

    /// The id of the process and of its process group.
    public let pid: Int32
    /// The file with the standard output.
    public let standardOutputPath: String
    /// The file with the standard error.
    public let standardErrorPath: String

    /// How a process ended.
    public enum Ending: Equatable, Sendable {
        /// The process exited with this code.
        case exited(Int32)
        /// A signal terminated the process.
        case killed(Int32)
    }

    /// The result of a finished program.
    public struct Output: Sendable {
        /// How the process ended.
        public let ending: Ending
        /// The standard output.
        public let standardOutput: String
        /// The standard error.
        public let standardError: String

        /// The exit code, or nil if a signal terminated the process.
        public var code: Int32? {
            if case .exited(let code) = ending { return code }
            return nil
        }
    }

    /// The program could not be found or started.
    public struct StartError: Error, CustomStringConvertible {
        /// The attempted action, and what to do.
        public let description: String
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - name: The name of a program built beside the running tests (see ``path(of:)``), or an absolute path.
    ///   - arguments: The arguments, without the program's own name.
    ///   - environment: The complete environment; the program inherits no variables.
    ///   - directory: The working directory.
    ///   - input: The file for standard input; nil: `/dev/null`.
    ///   - outputPrefix: Standard output is appended to `<prefix>.out`, standard error to `<prefix>.err`.
    /// - Throws: ``StartError``.
    public init(
        _ name: String, _ arguments: [String], environment: [String: String], directory: String,
        input: String? = nil, outputPrefix: String
    ) throws {
        let executable = try name.hasPrefix("/") ? name : Self.path(of: name)
        standardOutputPath = outputPrefix + ".out"
        standardErrorPath = outputPrefix + ".err"

        Self.keepDescriptorsFromChildren()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let append = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, 0, input ?? "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, standardOutputPath, append, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, standardErrorPath, append, 0o600)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        // env(1) changes the directory, for which POSIX has no file action, and executes the program in the same
        // process.
        let argumentStrings = (["env", "-C", directory, executable] + arguments).map { strdup($0) }
        let environmentStrings = environment.sorted { $0.key < $1.key }.map { strdup("\($0.key)=\($0.value)") }
        defer { (argumentStrings + environmentStrings).forEach { free($0) } }
        var child: pid_t = 0
        let failure = posix_spawn(
            &child, "/usr/bin/env", &actions, &attributes, argumentStrings + [nil], environmentStrings + [nil])
        guard failure == 0 else {
            throw StartError(description: "\(executable) cannot be started: \(String(cString: strerror(failure)))")
        }
        pid = child
    }

    deinit {
        guard ending == nil else { return }
        Glibc.kill(-pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    /// How the process ended; nil while it runs.
    public var ending: Ending? {
        lock.lock()
        defer { lock.unlock() }
        if let ended { return ended }
        var status: Int32 = 0
        guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
        // The macros WIFSIGNALED, WTERMSIG and WEXITSTATUS (man 2 waitpid), which Swift cannot import.
        let signal = status & 0x7F
        ended = signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal)
        return ended
    }

    /// Sends a signal to the process group. Does nothing after the end of the process.
    public func kill(_ signal: Int32) {
        guard ending == nil else { return }
        Glibc.kill(-pid, signal)
    }

    /// Waits for the end of the process.
    ///
    /// - Throws: ``Poll/TimedOut``; the process then still runs.
    @discardableResult
    public func wait(timeout: Duration = .seconds(150)) async throws -> Ending {
        try await Poll.value(
            "the end of process \(pid)", timeout: timeout, every: .milliseconds(5), lastState: { self.errorTail() },
            look: { self.ending })
    }

    /// The standard output so far.
    public var standardOutput: String { Self.contents(standardOutputPath) }

    /// The standard error so far.
    public var standardError: String { Self.contents(standardErrorPath) }

    /// Returns the last lines of standard error, for messages.
    public func errorTail(lines: Int = 15) -> String {
        standardError.split(separator: "\n").suffix(lines).joined(separator: "\n")
    }

    /// The peak resident memory in bytes; nil after the end of the process. Source: man 5 proc, VmHWM.
    public var peakResidentBytes: Int? {
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else { return nil }
        for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
        }
        return nil
    }

    /// Runs a program to its end.
    ///
    /// - Throws: ``StartError``, or ``Poll/TimedOut`` if the program does not end in time; the program is then
    ///   killed.
    public static func run(
        _ name: String, _ arguments: [String], environment: [String: String], directory: String,
        input: String? = nil, timeout: Duration = .seconds(150)
    ) async throws -> Output {
        let scratch = try TemporaryDirectory(prefix: "outbox-run")
        let program = try Program(
            name, arguments, environment: environment, directory: directory, input: input,
            outputPrefix: scratch.path("program"))
        let ending = try await program.wait(timeout: timeout)
        return Output(
            ending: ending, standardOutput: program.standardOutput, standardError: program.standardError)
    }

    /// Returns the path of a built program: in `$OUTBOX_BIN_DIR`, or else in the directory of the running test
    /// executable.
    ///
    /// - Throws: ``StartError`` if there is no such program.
    public static func path(of name: String) throws -> String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let directory =
            ProcessInfo.processInfo.environment["OUTBOX_BIN_DIR"]
            ?? own.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let path = "\(directory)/\(name)"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw StartError(description: "no program at \(path): build it first, or set OUTBOX_BIN_DIR")
        }
        return path
    }

    /// Marks all open descriptors of this process close-on-exec. A child with a copy of a listening socket or lock
    /// would keep that socket or lock alive.
    private static func keepDescriptorsFromChildren() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            guard let descriptor = Int32(name), descriptor > 2 else { continue }
            let flags = fcntl(descriptor, F_GETFD)
            if flags >= 0 { _ = fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) }
        }
    }

    private static func contents(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
}

/// The memory mappings of this process (man 5 proc_pid_smaps).
public enum ProcessMaps {
    /// Returns how many KiB of the mapping that begins at an address are present; `nil` if no mapping begins there.
    public static func presentKiB(at start: UInt) -> Int? {
        guard let file = fopen("/proc/self/smaps", "re") else { return nil }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(line) }
        let beginning = String(start, radix: 16) + "-"
        var isMapping = false
        while getline(&line, &size, file) > 0 {
            let words = line.map { String(cString: $0).split(separator: " ") } ?? []
            if words.first?.hasPrefix(beginning) == true { isMapping = true }
            if isMapping, words.first == "Rss:" { return words.count > 1 ? Int(words[1]) : nil }
        }
        return nil
    }
}
