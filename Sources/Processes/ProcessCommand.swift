import Glibc
import LinuxSystem

/// A program to run and everything it receives. It inherits nothing of the agent's environment and no other
/// descriptor.
struct ProcessCommand: Sendable {
    /// Absolute path.
    var program: String
    /// Arguments, without the program's name.
    var arguments: [String]
    /// The whole environment.
    var environment = Self.plainEnvironment
    /// The descriptors 0, 1, 2 and so on of the process.
    var descriptors: [SharedDescriptor]
    /// Resource limits.
    var limits: ProcessLimits
    /// Access limits; nil if the program sandboxes itself.
    var confinement: Confinement?

    /// Sufficient for system programs: messages in English, times in UTC.
    static let plainEnvironment = ["LC_ALL": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "TZ": "UTC"]
}

/// Resource limits of a process (man 2 setrlimit). Core files are never written.
struct ProcessLimits: Equatable, Sendable {
    /// Processor time over the whole life, in seconds; nil: no limit.
    var processorSeconds: UInt64?
    /// Address space in bytes, so that an allocation fails before the machine runs out of memory.
    var addressSpace: UInt64
    /// Maximum size of a written file in bytes.
    var fileSize: UInt64
    /// Maximum number of open descriptors.
    var openFiles: UInt64 = 64
    /// Added to the nice value, because uploads have precedence.
    var niceness: Int32 = 10

    var resources: [(resource: Int32, value: UInt64)] {
        var limits = [
            (Int32(RLIMIT_AS.rawValue), addressSpace), (Int32(RLIMIT_FSIZE.rawValue), fileSize),
            (Int32(RLIMIT_NOFILE.rawValue), openFiles), (Int32(RLIMIT_CORE.rawValue), 0),
        ]
        if let processorSeconds { limits.append((Int32(RLIMIT_CPU.rawValue), processorSeconds)) }
        return limits
    }
}

/// How a process ended.
enum ProcessEnding: Equatable, Sendable, CustomStringConvertible {
    /// The process exited with this code.
    case exited(Int32)
    /// This signal killed the process.
    case killed(Int32)

    /// Decodes the status of waitpid(2): the macros WTERMSIG and WEXITSTATUS, which Swift can't import.
    init(waitStatus status: Int32) {
        let signal = status & 0x7F
        self = signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal)
    }

    var description: String {
        switch self {
        case .exited(let code): "exit code \(code)"
        case .killed(let signal): "signal \(signal) (\(String(cString: strsignal(signal))))"
        }
    }
}

/// A program that could not be started.
struct StartFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// What failed, and why.
    var description: String
    /// Whether the program itself is at fault: missing, or not executable on this machine.
    var isProgramsFault: Bool
}

extension StartFailure {
    /// Converts any error that prevented a start.
    init(_ error: any Error, starting program: String) {
        self =
            error as? StartFailure
            ?? StartFailure(description: "\(program) cannot be started: \(error)", isProgramsFault: false)
    }
}
