import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Limits the cost of one connection: the time for receiving a body and for sending a reply, and the handling of a body
/// that no handler reads.
///
/// - A body has a deadline from the request head to the end of the body. The idle timeout covers silent peers; the
///   deadline covers peers that send a byte now and then.
/// - So has each piece of a reply, at most 64 KiB, until the kernel takes it: a peer that hardly reads is closed.
/// - A reply that begins before the end of the body is a refusal, so the connection ends with this reply. The guard
///   first shuts down only the sending side and discards a limited rest of the body, so that the client can read the
///   reply. Closing a socket with unread bytes would reset the connection and lose the reply (RFC 9112, 9.6).
final class RequestGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    struct Limits {
        /// The lowest expected link speed, in bytes per second.
        var slowest: Int64 = 512
        /// The extra time for any body.
        var allowance = TimeAmount.seconds(120)
        /// The time for a piece of a reply.
        var pieceTime = TimeAmount.seconds(60)
        /// The limits for discarding the rest of a refused body: time and bytes. The fragments of a request fit, with the
        /// header of each part.
        var lingerTime = TimeAmount.seconds(5)
        var lingerBytes = FileSectionRoutes.mostBytes + (1 << 20)
    }

    private enum Phase {
        case serving
        /// The next reply is the last reply.
        case refusing
        /// The last reply was sent. `discarded` counts the bytes dropped since then.
        case lingering(discarded: Int)
    }

    private let visitors: Visitors
    private let limits: Limits
    private var phase = Phase.serving
    private var bodiesEnded = 0
    private var repliesEnded = 0
    private var deadline: Scheduled<Void>?
    /// The pieces of replies that the kernel has not taken.
    private var unsentPieces = 0
    private var pieceDeadline: Scheduled<Void>?
    /// The connection is over. A deadline would keep it in memory.
    private var isGone = false

    init(visitors: Visitors, limits: Limits = Limits()) {
        self.visitors = visitors
        self.limits = limits
    }

    // MARK: The connection

    func channelActive(context: ChannelHandlerContext) {
        visitors.arrive(context.channel)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        isGone = true
        deadline?.cancel()
        pieceDeadline?.cancel()
        visitors.leave(context.channel)
        context.fireChannelInactive()
    }

    private func close(_ channel: any Channel, in time: TimeAmount) {
        deadline?.cancel()
        deadline = closing(channel, in: time)
    }

    private func closing(_ channel: any Channel, in time: TimeAmount) -> Scheduled<Void>? {
        isGone ? nil : channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = Self.unwrapInboundIn(data)
        if case .lingering(let discarded) = phase { return discard(part, after: discarded, context) }
        switch part {
        case .head(let head): close(context.channel, in: time(for: head))
        case .body: break
        case .end:
            bodiesEnded += 1
            deadline?.cancel()
        }
        context.fireChannelRead(data)
    }

    private func time(for head: HTTPRequest) -> TimeAmount {
        let length = head.headerFields[.contentLength].flatMap { Int64($0) } ?? 0
        return limits.allowance + .seconds(min(max(length, 0), 1 << 30) / limits.slowest)
    }

    private func discard(_ part: HTTPRequestPart, after discarded: Int, _ context: ChannelHandlerContext) {
        guard case .body(let bytes) = part, discarded + bytes.readableBytes <= limits.lingerBytes else {
            return context.close(promise: nil)
        }
        phase = .lingering(discarded: discarded + bytes.readableBytes)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // No other handler requests the discarded bytes.
        if case .lingering = phase { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .lingering = phase, event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    // MARK: Replies

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch Self.unwrapOutboundIn(data) {
        case .head(var head) where bodiesEnded <= repliesEnded:
            phase = .refusing
            head.headerFields[.connection] = "close"
            context.write(Self.wrapOutboundOut(.head(head)), promise: promise)
        case .head: context.write(data, promise: promise)
        case .body: context.write(data, promise: watched(promise, context))
        case .end:
            repliesEnded += 1
            visitors.rest(context.channel)
            let written = watched(promise, context)
            guard case .refusing = phase else { return context.write(data, promise: written) }
            linger(context, data, written)
        }
    }

    /// Closes the connection unless the kernel takes each piece in time.
    private func watched(
        _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) -> EventLoopPromise<Void> {
        let written = promise ?? context.eventLoop.makePromise()
        let channel = context.channel
        let time = limits.pieceTime
        unsentPieces += 1
        if unsentPieces == 1 { pieceDeadline = closing(channel, in: time) }
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.unsentPieces -= 1
            self.pieceDeadline?.cancel()
            self.pieceDeadline = self.unsentPieces > 0 ? self.closing(channel, in: time) : nil
        }
        return written
    }

    private func linger(_ context: ChannelHandlerContext, _ end: NIOAny, _ written: EventLoopPromise<Void>) {
        phase = .lingering(discarded: 0)
        let channel = context.channel
        let isBodyOver = bodiesEnded >= repliesEnded
        written.futureResult.whenComplete { _ in channel.close(mode: isBodyOver ? .all : .output, promise: nil) }
        context.writeAndFlush(end, promise: written)
        close(channel, in: limits.lingerTime)
        context.read()
    }
}
