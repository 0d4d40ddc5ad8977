import CLinux
import Glibc
import LinuxSystem

/// Whether the limits of this process leave an agent enough threads and address space.
///
/// Dispatch, SwiftNIO and the agent's own threads can't go on without a thread they need: they would end the process without
/// a word. So the agent finds out before it starts.
public struct StartLimits: Equatable, Sendable {
    /// Threads that an agent runs at a time, with some to spare.
    var neededThreads: Int
    /// Threads that could be started.
    var startableThreads: Int
    /// `ulimit -u`; nil where there is none.
    var processes: UInt64?
    /// `ulimit -v` in bytes; nil where there is none.
    var addressSpace: UInt64?
    /// Address space that an agent takes at least, in bytes.
    var neededAddressSpace: Int
    /// Whether that much could be reserved.
    var hasAddressSpace: Bool

    /// Finds out what this process may use, and has malloc make do with little where address space is limited.
    ///
    /// Must be called before anything else has started threads.
    public static func prepare() -> StartLimits {
        let addressSpace = LinuxSystem.processLimit(.addressSpace)
        // Of 64 MiB of address space each, glibc would make one for nearly every thread (man 3 mallopt, M_ARENA_MAX).
        if addressSpace != nil { outbox_limit_arenas(4) }
        let processors = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        // The agent's own, and for each processor one of the cooperative pool, of SwiftNIO and of hashing.
        let threads = 24 + 4 * processors
        let stack = min(LinuxSystem.processLimit(.stack) ?? defaultStack, mostStack)
        let space = Int(stack) * threads + Int(basis)
        return StartLimits(
            neededThreads: threads, startableThreads: LinuxSystem.startableThreads(atMost: threads),
            processes: LinuxSystem.processLimit(.processes), addressSpace: addressSpace,
            neededAddressSpace: space, hasAddressSpace: canReserve(bytes: space))
    }

    /// What glibc takes where the stack has no limit.
    private static let defaultStack: UInt64 = 8 << 20
    private static let mostStack: UInt64 = 64 << 20
    /// Libraries, malloc's arenas, heap and the smallest map of the ledger.
    private static let basis = 640 << 20

    /// Why an agent can't run under these limits; nil where it can.
    public var failure: AgentFailure? {
        if !hasAddressSpace {
            let limit = addressSpace.map { "`ulimit -v` is \($0 >> 10) KiB" } ?? "the system refuses it"
            return .limit(
                "the agent needs \(neededAddressSpace >> 20) MiB more of address space, and \(limit) (RLIMIT_AS); raise "
                    + "it, or LimitAS= of the service")
        }
        guard startableThreads < neededThreads else { return nil }
        let limit = processes.map { "`ulimit -u` is \($0) for all processes of the user (RLIMIT_NPROC)" }
        return .limit(
            "the agent needs \(neededThreads) threads and can start \(startableThreads); "
                + (limit.map { "\($0); raise it" } ?? "raise pids.max of its control group")
                + ", or TasksMax= and LimitNPROC= of the service")
    }
}
