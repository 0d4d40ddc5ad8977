import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// What the server knows of a request beside the request.
struct ConnectionContext: InitializableFromSource {
    let channel: any Channel
    let logger: Logger

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
        logger = source.logger
    }
}

/// Closes a connection whose request takes longer than the slowest link would need.
///
/// Silence has a limit of its own; this one is for peers that send a byte now and then to keep a connection busy.
struct RequestDeadline {
    /// Bytes a second that any link has.
    private static let slowest: Int64 = 512
    private static let allowance = TimeAmount.seconds(120)

    private let task: Scheduled<Void>

    init(for request: Request, on channel: any Channel) {
        let length = request.headers[.contentLength].flatMap { Int64($0) } ?? 0
        let time = Self.allowance + .seconds(min(max(length, 0), 1 << 30) / Self.slowest)
        task = channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }

    /// The request has been answered.
    func cancel() {
        task.cancel()
    }
}
