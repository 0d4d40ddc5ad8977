import NIOCore
import NIOHTTPTypes

/// Gives a connection to the control socket a seat, and keeps it once it sends a request.
final class SocketConnection: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    /// A connection without a request is closed after this time.
    static let idleTimeout = TimeAmount.seconds(60)

    private let seats: ConnectionSeats
    private var isTrusted = false

    init(_ seats: ConnectionSeats) { self.seats = seats }

    func handlerAdded(context: ChannelHandlerContext) { seats.arrive(context.channel) }

    func channelInactive(context: ChannelHandlerContext) {
        seats.leave(context.channel)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isTrusted {
            isTrusted = true
            seats.trust(context.channel)
        }
        context.fireChannelRead(data)
    }
}

/// Pauses a listener that gets no descriptor for a connection, and reports that. It comes first in the listener's pipeline.
final class AcceptPause: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = any Channel

    private static let pause = TimeAmount.seconds(1)

    private let onTrouble: @Sendable (_ error: IOError?) -> Void
    private var hasFailed = false
    private var isPausing = false
    private var isAwaited = false

    /// - Parameter onTrouble: called with the error of the first failed accept, and with `nil` after the next success.
    init(onTrouble: @escaping @Sendable (_ error: IOError?) -> Void) { self.onTrouble = onTrouble }

    func read(context: ChannelHandlerContext) {
        if isPausing { isAwaited = true } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if hasFailed {
            hasFailed = false
            onTrouble(nil)
        }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let failure = error as? IOError else { return context.fireErrorCaught(error) }
        if !hasFailed { onTrouble(failure) }
        hasFailed = true
        if isPausing { return }
        isPausing = true
        let loop = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.pause) {
            let (handler, context) = loop.value
            handler.isPausing = false
            if handler.isAwaited {
                handler.isAwaited = false
                context.read()
            }
        }
    }
}
