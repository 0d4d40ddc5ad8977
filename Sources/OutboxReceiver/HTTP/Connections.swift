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

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
        http.setup(channel: channel, logger: logger).map { AcceptedConnection($0) }
    }

    func handle(value: AcceptedConnection, logger: Logger) async {
        await withTaskExecutorPreference(LoopExecutor(loop: value.channel.eventLoop)) {
            await http.handle(value: value.take(), logger: logger)
        }
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
