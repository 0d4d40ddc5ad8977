import CLinux
import Glibc
import LinuxSystem
import Synchronization
import SystemPackage

/// A child process under limits, in its own session. Never outlives the thread that started it (man 2 prctl,
/// PR_SET_PDEATHSIG), so that thread must wait for its end.
package final class LimitedProcess: Sendable {
    /// The process id, also the id of its process group.
    package let pid: Int32
    private let handle: SharedDescriptor
    private let ending = Mutex<ProcessEnding?>(nil)

    /// Starts a program. Blocks until it runs.
    ///
    /// - Throws: ``StartFailure``.
    package init(_ command: ProcessCommand) throws(StartFailure) {
        let pid = try Self.start(command)
        self.pid = pid
        let handle = outbox_pidfd_open(pid)
        if handle < 0 {
            let failure = Errno(rawValue: errno)
            Glibc.kill(-pid, SIGKILL)
            _ = try? retryingOnInterrupt { waitpid(pid, nil, 0) }
            throw StartFailure(description: "\(command.program): pidfd_open: \(failure)", isProgramsFault: false)
        }
        self.handle = SharedDescriptor(Descriptor(owning: handle))
    }

    deinit { end() }

    /// A descriptor that becomes readable when the process ends, before it is reaped.
    package var pollDescriptor: Int32 { handle.rawValue }

    /// Kills the process and its process group; ``end()`` reaps it. A confined process can't start others.
    package func kill() {
        ending.withLock { if $0 == nil { Glibc.kill(-pid, SIGKILL) } }
    }

    /// Kills the process group and reaps the process. Blocks for a moment.
    ///
    /// - Returns: How the process ended; its own ending if it had already ended.
    @discardableResult
    package func end() -> ProcessEnding {
        ending.withLock { known in
            if let known { return known }
            // The process id can't be reused before the process is reaped.
            Glibc.kill(-pid, SIGKILL)
            var status: Int32 = 0
            _ = try? retryingOnInterrupt { waitpid(pid, &status, 0) }
            let ending = ProcessEnding(waitStatus: status)
            known = ending
            return ending
        }
    }

    private static func start(_ command: ProcessCommand) throws(StartFailure) -> pid_t {
        let ruleset = try command.confinement?.ruleset()
        var stage: Int32 = 0
        let (pid, reason) = withCStrings([command.program] + command.arguments) { arguments in
            withCStrings(command.environment.map { "\($0)=\($1)" }) { environment in
                let descriptors = command.descriptors.map(\.rawValue)
                let limits = command.limits.resources.map { outbox_limit(resource: $0.resource, value: $0.value) }
                return descriptors.withUnsafeBufferPointer { descriptors in
                    limits.withUnsafeBufferPointer { limits in
                        var child = outbox_child(
                            program: arguments[0], arguments: arguments, environment: environment,
                            descriptors: descriptors.baseAddress, descriptor_count: Int32(descriptors.count),
                            limits: limits.baseAddress, limit_count: Int32(limits.count),
                            niceness: command.limits.niceness, ruleset: ruleset?.rawValue ?? -1,
                            filtered: command.confinement == nil ? 0 : 1)
                        let pid = outbox_start_child(&child, &stage)
                        return (pid, Errno(rawValue: errno))
                    }
                }
            }
        }
        if pid > 0 { return pid }
        let lasting: [Errno] = [
            .noSuchFileOrDirectory, .notDirectory, .permissionDenied, .execFormatError, .tooManySymbolicLinkLevels,
        ]
        let isProgramsFault = Int(stage) == outbox_start_program && lasting.contains(reason)
        throw StartFailure(
            description: "\(command.program) cannot be started: \(words(for: stage)): \(reason)",
            isProgramsFault: isProgramsFault)
    }

    private static func words(for stage: Int32) -> String {
        switch Int(stage) {
        case outbox_start_fork: "fork"
        case outbox_start_parent: "parent death signal"
        case outbox_start_directory: "working directory"
        case outbox_start_descriptors: "descriptors"
        case outbox_start_limits: "resource limits"
        case outbox_start_confinement: "confinement"
        default: "exec"
        }
    }

    /// Calls `body` with a null-terminated array of C strings.
    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { buffer in
            // Never empty: the array ends with a null.
            body(buffer.baseAddress.unsafelyUnwrapped)
        }
    }
}
