import Glibc
import LinuxSystem

/// A program to be run, and all that it gets: nothing of the agent's environment, no other descriptor.
struct ProcessCommand: Sendable {
    /// Absolute path.
    var program: String
    /// Arguments after the program's own name.
    var arguments: [String]
    /// The whole environment.
    var environment = Self.plainEnvironment
    /// What become descriptors 0, 1, 2 and so on.
    var descriptors: [SharedDescriptor]
    /// What it may use.
    var limits: ProcessLimits
    /// What it may reach; nil where it locks itself in.
    var confinement: Confinement?

    /// Enough for programs of the system: messages in English, times without a zone.
    static let plainEnvironment = ["LC_ALL": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "TZ": "UTC"]
}

/// What a process may use (man 2 setrlimit); core files are never written.
struct ProcessLimits: Equatable, Sendable {
    /// Seconds on processors over its whole life; nil: no limit.
    var processorSeconds: UInt64?
    /// Bytes of address space, so that an allocation fails before the machine runs out.
    var addressSpace: UInt64
    /// Bytes of the longest file it may write.
    var fileSize: UInt64
    /// Descriptors.
    var openFiles: UInt64 = 64
    /// Added to the scheduling priority: uploads go first.
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
    /// With this exit code.
    case exited(Int32)
    /// By this signal.
    case killed(Int32)

    /// From what waitpid(2) says: the macros WTERMSIG and WEXITSTATUS, which Swift does not see.
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
    /// Whether the program itself is to blame: it is missing, or no program for this machine.
    var isProgramsFault: Bool
}

extension StartFailure {
    /// Whatever kept a program from being started.
    init(_ error: any Error, starting program: String) {
        self =
            error as? StartFailure
            ?? StartFailure(description: "\(program) cannot be started: \(error)", isProgramsFault: false)
    }
}
