import Glibc
package import LinuxSystem

/// A program to run and everything it receives. It inherits nothing of the agent's environment and no other
/// descriptor.
package struct ProcessCommand: Sendable {
    /// Absolute path.
    var program: String
    /// Arguments, without the program's name.
    var arguments: [String]
    /// The whole environment.
    var environment: [String: String]
    /// The descriptors 0, 1, 2 and so on of the process.
    var descriptors: [SharedDescriptor]
    /// Resource limits.
    var limits: ProcessLimits
    /// Access limits; nil if the program sandboxes itself.
    var confinement: Confinement?

    /// Creates a command.
    package init(
        program: String, arguments: [String], environment: [String: String] = Self.plainEnvironment,
        descriptors: [SharedDescriptor], limits: ProcessLimits, confinement: Confinement? = nil
    ) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.descriptors = descriptors
        self.limits = limits
        self.confinement = confinement
    }

    /// Sufficient for system programs: messages in English, times in UTC.
    private static let plainEnvironment = ["LC_ALL": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "TZ": "UTC"]
}

/// Resource limits of a process (man 2 setrlimit); nil: no limit. Core files are never written.
package struct ProcessLimits: Equatable, Sendable {
    /// Processor time over the whole life, in seconds.
    var processorSeconds: UInt64?
    /// Address space in bytes, so that an allocation fails before the machine runs out of memory.
    var addressSpace: UInt64?
    /// Maximum size of a written file in bytes.
    var fileSize: UInt64?
    /// Maximum number of open descriptors.
    var openFiles: UInt64?
    /// Added to the nice value, because uploads have precedence.
    var niceness: Int32

    /// Creates limits.
    package init(
        processorSeconds: UInt64? = nil, addressSpace: UInt64? = nil, fileSize: UInt64? = nil, openFiles: UInt64? = 64,
        niceness: Int32 = 10
    ) {
        self.processorSeconds = processorSeconds
        self.addressSpace = addressSpace
        self.fileSize = fileSize
        self.openFiles = openFiles
        self.niceness = niceness
    }

    var resources: [(resource: Int32, value: UInt64)] {
        let limits: [(Int32, UInt64?)] = [
            (Int32(RLIMIT_AS.rawValue), addressSpace), (Int32(RLIMIT_FSIZE.rawValue), fileSize),
            (Int32(RLIMIT_NOFILE.rawValue), openFiles), (Int32(RLIMIT_CORE.rawValue), 0),
            (Int32(RLIMIT_CPU.rawValue), processorSeconds),
        ]
        return limits.compactMap { resource, value in value.map { (resource, $0) } }
    }
}

/// How a process ended.
package enum ProcessEnding: Equatable, Sendable, CustomStringConvertible {
    /// The process exited with this code.
    case exited(Int32)
    /// This signal killed the process.
    case killed(Int32)

    /// Decodes the status of waitpid(2): the macros WTERMSIG and WEXITSTATUS, which Swift can't import.
    init(waitStatus status: Int32) {
        let signal = status & 0x7F
        self = signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal)
    }

    /// For messages.
    package var description: String {
        switch self {
        case .exited(let code): "exit code \(code)"
        case .killed(let signal): "signal \(signal) (\(String(cString: strsignal(signal))))"
        }
    }
}

/// A program that could not be started.
package struct StartFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// What failed, and why.
    package var description: String
    /// Whether the program itself is at fault: missing, or not executable on this machine.
    package var isProgramsFault: Bool
}

extension StartFailure {
    /// Converts any error that prevented a start.
    package init(_ error: any Error, starting program: String) {
        self =
            error as? StartFailure
            ?? StartFailure(description: "\(program) cannot be started: \(error)", isProgramsFault: false)
    }
}
