import NIOCore

/// Sets up each connection's socket.
///
/// The socket reads up to 256 KiB at a time. The default grows from 2 KiB to 64 KiB at most, so each fragment would
/// arrive in many small events. TCP drops a peer that stops acknowledging or reading (man 7 tcp, TCP_USER_TIMEOUT).
final class SocketOptions: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private static let userTimeout = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: 18))
    private let sendTimeout: TimeAmount

    /// - Parameter sendTimeout: How long sent bytes may stay unacknowledged, or the peer's window closed.
    init(sendTimeout: TimeAmount) {
        self.sendTimeout = sendTimeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let allocator = AdaptiveRecvByteBufferAllocator(minimum: 16 * 1024, initial: 64 * 1024, maximum: 256 * 1024)
        context.channel.setOption(.recvAllocator, value: allocator).whenComplete { _ in }
        let milliseconds = SocketOptionValue(sendTimeout.nanoseconds / 1_000_000)
        context.channel.setOption(Self.userTimeout, value: milliseconds).whenComplete { _ in }
    }
}
