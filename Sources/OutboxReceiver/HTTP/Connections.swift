import HummingbirdCore
import Logging
import NIOCore

/// Runs all work of a connection on the event loop thread of its socket.
///
/// The thread that receives a fragment also writes it, which avoids hops between threads, the main cost of a small
/// file. These threads may block briefly in the file system. Slow work has threads of its own: digesting blocks that
/// came out of order, and waiting for the disk.
struct Connections: ServerChildChannel {
    typealias Value = HTTP1Channel.Value

    let http: HTTP1Channel

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        http.setup(channel: channel, logger: logger)
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(LoopExecutor(loop: value.channel.eventLoop)) {
            await http.handle(value: value, logger: logger)
        }
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
