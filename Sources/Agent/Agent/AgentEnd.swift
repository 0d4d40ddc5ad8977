import ServiceLifecycle
import Synchronization
import SystemdService

/// Why a running agent ends on its own.
enum EndReason: Equatable, Sendable {
    /// The ledger is unusable. The next start rebuilds it.
    case ledgerDamaged(String)
    /// Another account signed in. Nothing of the previous account may continue.
    case accountChanged
}

/// Collects the reason why the agent must stop. The first component to report a reason wins.
final class AgentEnd: Sendable {
    private let first = Mutex<EndReason?>(nil)
    private let raised = AsyncStream.makeStream(of: EndReason.self)

    private let told = Mutex(false)

    /// Whether a signal asked for the end. Needed because a service group ignores signals while ending.
    var isToldToEnd: Bool {
        get { told.withLock(\.self) }
        set { told.withLock { $0 = newValue } }
    }

    /// The first reported reason; `nil` if no component has reported one.
    var reason: EndReason? { first.withLock(\.self) }

    func raise(_ reason: EndReason) {
        first.withLock { if $0 == nil { $0 = reason } }
        raised.continuation.yield(reason)
    }

    /// Waits for a graceful shutdown or a reported reason.
    func wait() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await gracefulShutdown() }
            group.addTask { [raised] in for await _ in raised.stream { return } }
            defer { group.cancelAll() }
            await group.next()
        }
    }
}

/// Tells the service manager why the agent ends. As the last service of the group, it is the first to end.
struct Farewell: Service {
    let notifier: ServiceNotifier
    let end: AgentEnd

    func run() async throws {
        try? await gracefulShutdown()
        if end.reason == .accountChanged { await notifier.beginsAnew() } else { await notifier.stopping() }
    }
}
