import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Limits what one connection to the dashboard's address may cost, since every user of the machine can connect.
///
/// - It takes a seat; see `ConnectionSeats`.
/// - A browser that leaves only ends its sending side, as far as TCP tells. The connection ends with it.
/// - TCP drops a peer that stops reading (man 7 tcp, TCP_USER_TIMEOUT).
/// - After a reply to a request whose body has not ended, the rest of the body is read for some seconds, so that the
///   browser shows the reply. Then the connection ends.
final class DashboardConnection: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// A connection without a request is closed after this time.
    static let idleTimeout = TimeAmount.seconds(60)
    private static let userTimeout = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: 18))
    private static let restTime = TimeAmount.seconds(10)

    private let seats: ConnectionSeats
    private var isReadingBody = false
    private var deadline: Scheduled<Void>?

    init(_ seats: ConnectionSeats) { self.seats = seats }

    func handlerAdded(context: ChannelHandlerContext) {
        seats.arrive(context.channel)
        let milliseconds = SocketOptionValue(Self.idleTimeout.nanoseconds / 1_000_000)
        context.channel.setOption(Self.userTimeout, value: milliseconds).whenComplete { _ in }
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        seats.leave(context.channel)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head: isReadingBody = true
        case .body: break
        case .end:
            isReadingBody = false
            deadline?.cancel()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = Self.unwrapOutboundIn(data), isReadingBody {
            let channel = context.channel
            deadline?.cancel()
            deadline = channel.eventLoop.scheduleTask(in: Self.restTime) { channel.close(promise: nil) }
        }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}
