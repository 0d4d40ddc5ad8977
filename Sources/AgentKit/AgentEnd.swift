import ServiceLifecycle
import Synchronization

/// Why a running agent ends of its own accord.
enum EndReason: Equatable, Sendable {
    /// The ledger can't be used any more; the next start rebuilds it.
    case ledgerDamaged(String)
    /// Another account signed in: nothing of the one before may go on.
    case accountChanged
}

/// Where whoever finds that the agent can't go on as it is says so.
final class AgentEnd: Sendable {
    private let first = Mutex<EndReason?>(nil)
    private let raised = AsyncStream.makeStream(of: EndReason.self)

    private let told = Mutex(false)

    /// Whether a signal asked for the end: a service group that is about to end passes over signals.
    var isToldToEnd: Bool {
        get { told.withLock(\.self) }
        set { told.withLock { $0 = newValue } }
    }

    /// What was said first; nil while the agent goes on, or was told to end.
    var reason: EndReason? { first.withLock(\.self) }

    func raise(_ reason: EndReason) {
        first.withLock { if $0 == nil { $0 = reason } }
        raised.continuation.yield(reason)
    }

    /// Waits until the agent is told to end, or something says that it must.
    func wait() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await gracefulShutdown() }
            group.addTask { [raised] in for await _ in raised.stream { return } }
            defer { group.cancelAll() }
            await group.next()
        }
    }
}

/// Tells the service manager why the agent goes: the last service of the group, and so the first that hears of it.
struct Farewell: Service {
    let notifier: ServiceNotifier
    let end: AgentEnd

    func run() async throws {
        try? await gracefulShutdown()
        if end.reason == .accountChanged { await notifier.beginsAnew() } else { await notifier.stopping() }
    }
}
