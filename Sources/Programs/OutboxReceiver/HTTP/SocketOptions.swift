import NIOCore

/// Sets up each connection's socket.
///
/// TCP drops a peer that stops acknowledging or reading (man 7 tcp, TCP_USER_TIMEOUT). The kernel takes few bytes that it
/// can't send yet (TCP_NOTSENT_LOWAT), not megabytes for a peer that hardly reads.
final class SocketOptions: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private static let userTimeout = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: 18))
    private static let unsentLimit = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: 25))
    private static let mostUnsent: SocketOptionValue = 128 << 10
    private let sendTimeout: TimeAmount

    /// - Parameter sendTimeout: How long sent bytes may stay unacknowledged, or the peer's window closed.
    init(sendTimeout: TimeAmount) {
        self.sendTimeout = sendTimeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let milliseconds = SocketOptionValue(sendTimeout.nanoseconds / 1_000_000)
        context.channel.setOption(Self.userTimeout, value: milliseconds).whenComplete { _ in }
        context.channel.setOption(Self.unsentLimit, value: Self.mostUnsent).whenComplete { _ in }
    }
}
