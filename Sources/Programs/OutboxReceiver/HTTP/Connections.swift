import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Synchronization

/// Runs all work of a connection on the event loop thread of its socket.
///
/// The thread that receives a fragment also writes it, which avoids hops between threads, the main cost of a small
/// file. These threads may block briefly in the file system. Slow work has threads of its own: digesting blocks that
/// came out of order, and waiting for the disk.
struct Connections: ServerChildChannel {
    let http: HTTP1Channel
    let open: OpenConnections

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
        http.setup(channel: channel, logger: logger).map { AcceptedConnection($0) }
    }

    func handle(value: AcceptedConnection, logger: Logger) async {
        let channel = value.channel
        open.insert(channel)
        defer { open.remove(channel) }
        await withTaskExecutorPreference(LoopExecutor(loop: channel.eventLoop)) {
            await http.handle(value: value.take(), logger: logger)
        }
    }
}

/// The connections that the server handles now. Closing them ends their tasks without a cancellation.
///
/// To cancel these tasks would not be safe. A cancellation holds the lock of the task while it runs the handler of a
/// sequence, which takes the lock of the sequence. A sequence of NIO or AsyncAlgorithms holds its lock while its reader
/// suspends, and a reader with a preferred executor takes the lock of the task there.
final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Adds a connection; closes it if ``close()`` was called before.
    func insert(_ channel: any Channel) {
        let isClosed = state.withLock { state in
            state.channels[ObjectIdentifier(channel)] = channel
            return state.isClosed
        }
        if isClosed { channel.close(promise: nil) }
    }

    func remove(_ channel: any Channel) {
        state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// Closes all connections, and later ones when they are inserted.
    func close() {
        let channels = state.withLock { state in
            state.isClosed = true
            return Array(state.channels.values)
        }
        for channel in channels { channel.close(promise: nil) }
    }
}

/// A connection that the server accepted. Closes the connection if nobody handles it.
///
/// A cancelled server drops the connections that it has accepted and not handled yet. NIO ends the process when it
/// drops a `NIOAsyncChannel` whose `executeThenClose` never ran.
final class AcceptedConnection: ServerChildChannelValue {
    private let connection: HTTP1Channel.Value
    private let isTaken = Atomic(false)

    init(_ connection: HTTP1Channel.Value) {
        self.connection = connection
    }

    var channel: any Channel { connection.channel }

    /// Returns the connection to the caller, who must run `executeThenClose`.
    func take() -> HTTP1Channel.Value {
        isTaken.store(true, ordering: .relaxed)
        return connection
    }

    deinit {
        if isTaken.load(ordering: .relaxed) { return }
        Task { [connection] in try? await connection.executeThenClose { _, _ in } }
    }
}

/// Runs tasks on an event loop.
private final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// The channel and the logger that belong to a request.
struct ConnectionContext: InitializableFromSource {
    let channel: any Channel
    let logger: Logger

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
        logger = source.logger
    }
}
