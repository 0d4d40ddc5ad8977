import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import OutboxReceiver

@Suite struct RequestGuardTests {
    private static let limits = RequestGuard.Limits(lingerBytes: 10)

    private static func connected() throws -> EmbeddedChannel {
        let visitors = Visitors(total: 10, perAddress: 10)
        let channel = EmbeddedChannel(handlers: [HalfClosing(), RequestGuard(visitors: visitors, limits: limits)])
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        return channel
    }

    private static func post(_ length: Int? = nil) -> HTTPRequestPart {
        var request = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/")
        if let length { request.headerFields[.contentLength] = "\(length)" }
        return .head(request)
    }

    private static let byte = HTTPRequestPart.body(ByteBuffer(bytes: [1]))
    private static let reply = [HTTPResponsePart.head(HTTPResponse(status: .unauthorized)), .end(nil)]

    @Test func aTrickledBodyIsEnded() throws {
        let channel = try Self.connected()
        try channel.writeInbound(Self.post())
        for _ in 0..<119 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            try channel.writeInbound(Self.byte)
        }
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func aLongBodyHasTheTimeASlowLinkNeeds() throws {
        let channel = try Self.connected()
        try channel.writeInbound(Self.post(512 * 100))
        channel.embeddedEventLoop.advanceTime(by: .seconds(219))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func aRefusalOfAConnectionThatIsGoneKeepsNothing() throws {
        weak var gone: EmbeddedChannel?
        do {
            let channel = try Self.connected()
            gone = channel
            try channel.writeInbound(Self.post(100))
            try channel.close().wait()
            for part in Self.reply { channel.write(part, promise: nil) }
            channel.flush()
            channel.embeddedEventLoop.run()
        }
        #expect(gone == nil)
    }

    @Test func aBodyThatEndedHasNoDeadline() throws {
        let channel = try Self.connected()
        try channel.writeInbound(Self.post())
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        for part in Self.reply { try channel.writeOutbound(part) }
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
    }

    @Test func aReplyThatIsHardlyReadIsEnded() throws {
        let channel = try Self.connected()
        try channel.writeInbound(Self.post())
        try channel.writeInbound(HTTPRequestPart.end(nil))
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        let piece = HTTPResponsePart.body(ByteBuffer(bytes: [1]))
        // The kernel takes a piece a minute, which is slow.
        for _ in 0..<3 {
            channel.write(piece, promise: nil)
            channel.embeddedEventLoop.advanceTime(by: .seconds(59))
            channel.flush()
        }
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        channel.write(piece, promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        #expect(!channel.isActive)
    }

    /// A connection with a request that the server refused before the end of the body.
    private static func refused() throws -> EmbeddedChannel {
        let channel = try connected()
        try channel.writeInbound(post())
        _ = try channel.readInbound(as: HTTPRequestPart.self)
        for part in reply { try channel.writeOutbound(part) }
        let head = try channel.readOutbound(as: HTTPResponsePart.self)
        guard case .head(let head) = head else { throw ChannelError.eof }
        #expect(head.headerFields[.connection] == "close")
        return channel
    }

    @Test func aRefusedBodyIsDiscardedForAMoment() throws {
        let channel = try Self.refused()
        try channel.writeInbound(Self.byte)
        #expect(try channel.readInbound(as: HTTPRequestPart.self) == nil)
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(!channel.isActive)
    }

    @Test func aRefusedBodyIsDiscardedUpToALimit() throws {
        let channel = try Self.refused()
        for _ in 0..<10 { try channel.writeInbound(Self.byte) }
        #expect(channel.isActive)
        try channel.writeInbound(Self.byte)
        #expect(!channel.isActive)
    }

    @Test func theEndOfARefusedBodyClosesTheConnection() throws {
        let channel = try Self.refused()
        try channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(!channel.isActive)
    }
}

/// Ignores a close of the output side only, because `EmbeddedChannel` would close both sides.
private final class HalfClosing: ChannelOutboundHandler {
    typealias OutboundIn = HTTPResponsePart

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output { promise?.succeed() } else { context.close(mode: mode, promise: promise) }
    }
}
