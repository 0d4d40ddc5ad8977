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
