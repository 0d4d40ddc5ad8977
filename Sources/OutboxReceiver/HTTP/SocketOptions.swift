import NIOCore

/// Sets up each connection's socket.
///
/// TCP drops a peer that stops acknowledging or reading (man 7 tcp, TCP_USER_TIMEOUT).
final class SocketOptions: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private static let userTimeout = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: 18))
    private let sendTimeout: TimeAmount

    /// - Parameter sendTimeout: How long sent bytes may stay unacknowledged, or the peer's window closed.
    init(sendTimeout: TimeAmount) {
        self.sendTimeout = sendTimeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let milliseconds = SocketOptionValue(sendTimeout.nanoseconds / 1_000_000)
        context.channel.setOption(Self.userTimeout, value: milliseconds).whenComplete { _ in }
    }
}
