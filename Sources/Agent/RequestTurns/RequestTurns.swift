import HTTPTypes
package import NIOCore
package import NIOHTTPTypes

/// Gives each request of a connection its turn: a request is parsed once the reply to the one before was written.
///
/// A client may send requests without waiting for replies, or without ever reading one (RFC 9112, 9.3.2). NIO parses
/// whatever a socket delivers, and a parsed request of 20 bytes takes a kilobyte. So this handler puts a gate in front of
/// the parser. Until its turn, a request stays in the socket, but for the bytes of one read. A connection that gets
/// only refusals is closed after some, and so is one whose body comes in tiny chunks: parsing a chunk costs as much as
/// receiving kilobytes.
///
/// Refuses heads that are not ASCII. Swift compares texts by canonical equivalence, which takes a second for some
/// kilobytes of combining marks, and no field of these protocols needs other characters.
///
/// Add the handler right behind the parser, in a pipeline of `ByteBuffer`s.
package final class RequestTurns: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// How many chunks a body may have that are smaller on average than ``leastChunk``.
    private static let mostSmallChunks = 64
    /// In bytes.
    private static let leastChunk = 512

    private let mostRefusals: Int
    private let gate = ByteGate()
    private var refusals = 0
    /// The end of the request has not come.
    private var isBeingReceived = false
    /// The head was refused. Nothing else of the connection counts.
    private var isRefused = false
    /// The end of the reply is not written.
    private var isBeingAnswered = false
    /// The pieces and bytes of a body in chunks; nil for another body.
    private var chunks: (count: Int, bytes: Int)?

    /// Creates the handler of one connection.
    ///
    /// - Parameter mostRefusals: the connection ends with the reply that is the last of so many with a status of 4xx or 5xx.
    package init(mostRefusals: Int = 100) {
        self.mostRefusals = mostRefusals
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        do {
            try context.pipeline.syncOperations.addHandler(gate, position: .first)
        } catch {
            context.close(promise: nil)
        }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isRefused { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head) where !Self.isASCII(head): return refuse(context)
        case .head(let head):
            isBeingReceived = true
            isBeingAnswered = true
            let stretch = Self.stretch(ofBodyAfter: head)
            chunks = stretch == .chunks ? (0, 0) : nil
            // RFC 9110, 10.1.1: the client waits for this before it sends the body.
            if head.headerFields[.expect]?.lowercased() == "100-continue" {
                context.writeAndFlush(Self.wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
            gate.open(stretch)
        case .body(let bytes):
            gate.noteProgress()
            if isTooFine(with: bytes.readableBytes) {
                gate.shut()
                return context.close(promise: nil)
            }
        case .end:
            isBeingReceived = false
            gate.open(isBeingAnswered ? .nothing : .lines)
        }
        context.fireChannelRead(data)
    }

    /// Whether all field values are ASCII. The parser refuses other names and targets itself.
    private static func isASCII(_ head: HTTPRequest) -> Bool {
        head.headerFields.allSatisfy { $0.value.utf8.allSatisfy { $0 < 0x80 } }
    }

    private func refuse(_ context: ChannelHandlerContext) {
        isRefused = true
        gate.shut()
        let head = HTTPResponse(status: .badRequest, headerFields: [.connection: "close", .contentLength: "0"])
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: written)
    }

    private static func stretch(ofBodyAfter head: HTTPRequest) -> ByteGate.Stretch {
        if head.headerFields[.transferEncoding] != nil { return .chunks }
        guard let length = head.headerFields[.contentLength] else { return .nothing }
        return Int(length).map { .bytes($0) } ?? .chunks
    }

    /// Counts a piece of a body.
    ///
    /// - Returns: whether the body comes in too many small chunks.
    private func isTooFine(with bytes: Int) -> Bool {
        guard let before = chunks else { return false }
        chunks = (before.count + 1, before.bytes + bytes)
        return before.count >= Self.mostSmallChunks && before.bytes + bytes < before.count * Self.leastChunk
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        gate.shut()
        // The parser misses the rest of a refused request.
        if !isRefused { context.fireErrorCaught(error) }
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch Self.unwrapOutboundIn(data) {
        case .head(var head) where head.status.code >= 400:
            refusals += 1
            if refusals >= mostRefusals { head.headerFields[.connection] = "close" }
            context.write(Self.wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            let written = promise ?? context.eventLoop.makePromise()
            written.futureResult.assumeIsolated().whenSuccess { self.finishReply(context) }
            context.write(data, promise: written)
        default: context.write(data, promise: promise)
        }
    }

    private func finishReply(_ context: ChannelHandlerContext) {
        isBeingAnswered = false
        if refusals >= mostRefusals { return context.close(promise: nil) }
        if !isBeingReceived { gate.open(.lines) }
    }
}
