import Hummingbird
import Logging
import NIOCore

/// The channel and the logger that belong to a request.
struct ConnectionContext: InitializableFromSource {
    let channel: any Channel
    let logger: Logger

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
        logger = source.logger
    }
}
