import NIOCore

/// Makes a connection read up to 256 KiB at a time. With the default of at most 64 KiB, starting at 2 KiB, each
/// fragment is many small events, each with a hop between threads.
final class LargeReads: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func handlerAdded(context: ChannelHandlerContext) {
        let allocator = AdaptiveRecvByteBufferAllocator(minimum: 16 * 1024, initial: 64 * 1024, maximum: 256 * 1024)
        context.channel.setOption(.recvAllocator, value: allocator).whenComplete { _ in }
    }
}
