package import ControlAPI
import Glibc
import LinuxSystem

/// Whether the limits of this process leave enough threads, descriptors and address space for an agent.
///
/// Without descriptors, files never finish. If Dispatch, SwiftNIO or the agent can't start a thread, they end the process without a message. The agent
/// therefore checks the limits before it starts.
package struct StartLimits: Equatable, Sendable {
    /// Maximum number of concurrent threads of an agent, plus a reserve.
    var neededThreads: Int
    /// Number of threads that this process could start.
    var startableThreads: Int
    /// `ulimit -n`; `nil` if unlimited.
    var openFiles: UInt64?
    /// `ulimit -u`; `nil` if unlimited.
    var processes: UInt64?
    /// `ulimit -v` in bytes; `nil` if unlimited.
    var addressSpace: UInt64?
    /// Minimum address space of an agent in bytes.
    var neededAddressSpace: Int
    /// Whether the process could reserve the needed address space.
    var hasAddressSpace: Bool

    /// Determines the limits of this process.
    package static func prepare() -> StartLimits {
        let addressSpace = LinuxSystem.processLimit(.addressSpace)
        let processors = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        // The agent's own threads, plus threads of the cooperative pool, SwiftNIO and hashing for each processor.
        let threads = 25 + 4 * processors
        let stack = min(LinuxSystem.processLimit(.stack) ?? defaultStack, mostStack)
        let space = Int(stack) * threads + Int(basis)
        return StartLimits(
            neededThreads: threads, startableThreads: LinuxSystem.startableThreads(atMost: threads),
            openFiles: LinuxSystem.processLimit(.openFiles), processes: LinuxSystem.processLimit(.processes),
            addressSpace: addressSpace,
            neededAddressSpace: space, hasAddressSpace: canReserve(bytes: space))
    }

    /// The descriptors of an agent that sends one file: about 43 at rest, with a reserve.
    private static let neededFiles: UInt64 = 64
    /// glibc's stack size if the limit is infinite.
    private static let defaultStack: UInt64 = 8 << 20
    private static let mostStack: UInt64 = 64 << 20
    /// Libraries, heap and the smallest map of the ledger.
    private static let basis = 640 << 20

    /// Why an agent can't run under these limits; `nil` if it can.
    package var failure: AgentFailure? {
        if !hasAddressSpace {
            let limit = addressSpace.map { "`ulimit -v` is \($0 >> 10) KiB" } ?? "the system refuses it"
            return .limit(
                "the agent needs \(neededAddressSpace >> 20) MiB more of address space, and \(limit) (RLIMIT_AS); raise "
                    + "it, or LimitAS= of the service")
        }
        if let openFiles, openFiles < Self.neededFiles {
            return .limit(
                "the agent needs \(Self.neededFiles) descriptors, and `ulimit -n` is \(openFiles) (RLIMIT_NOFILE); raise it, "
                    + "or LimitNOFILE= of the service")
        }
        guard startableThreads < neededThreads else { return nil }
        let limit = processes.map { "`ulimit -u` is \($0) for all processes of the user (RLIMIT_NPROC)" }
        return .limit(
            "the agent needs \(neededThreads) threads and can start \(startableThreads); "
                + (limit.map { "\($0); raise it" } ?? "raise pids.max of its control group")
                + ", or TasksMax= and LimitNPROC= of the service")
    }
}
