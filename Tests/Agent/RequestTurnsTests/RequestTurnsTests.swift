import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import RequestTurns
import Testing

@Suite struct RequestTurnsTests {
    /// A connection with the parser of a server, and what it read and sent.
    private struct Connection {
        let channel: EmbeddedChannel
        let reads: Reads

        init(mostRefusals: Int = 3) throws {
            reads = Reads()
            channel = EmbeddedChannel()
            try channel.pipeline.syncOperations.addHandlers([
                ByteToMessageHandler(HTTPRequestDecoder()), HTTPResponseEncoder(),
                HTTP1ToHTTPServerCodec(secure: false),
                RequestTurns(mostRefusals: mostRefusals),
            ])
            try channel.pipeline.syncOperations.addHandler(reads, position: .first)
            try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        }

        func receive(_ text: String) throws {
            try channel.writeInbound(ByteBuffer(string: text))
        }

        var isOpen: Bool { channel.isActive }

        /// Returns the paths of requests, `+` for a piece of a body and `.` for an end.
        func parts() throws -> String {
            var text = ""
            while let part = try channel.readInbound(as: HTTPRequestPart.self) {
                switch part {
                case .head(let head): text += head.path ?? ""
                case .body: text += "+"
                case .end: text += "."
                }
            }
            return text
        }

        func sent() throws -> String {
            var text = ""
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
            return text
        }

        func reply(_ status: HTTPResponse.Status = .ok) throws -> String {
            var head = HTTPResponse(status: status)
            head.headerFields[.contentLength] = "0"
            try channel.writeOutbound(HTTPResponsePart.head(head))
            try channel.writeOutbound(HTTPResponsePart.end(nil))
            let text = try sent()
            // A request that is here already waits until others had their turn.
            channel.embeddedEventLoop.advanceTime(by: .seconds(6))
            return text
        }
    }

    /// Counts what is read from the socket.
    private final class Reads: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var count = 0

        func read(context: ChannelHandlerContext) {
            count += 1
            context.read()
        }
    }

    private static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n" }

    /// Swift takes a second to compare some kilobytes of combining marks.
    @Test(arguments: ["Cookie", "Expect", "Connection", "X-Any"])
    func aHeadThatIsNotASCIIIsRefusedAtOnce(name: String) throws {
        let connection = try Connection()
        let marks = String(repeating: "\u{301}\u{316}", count: 2000)
        try connection.receive(
            "POST /a HTTP/1.1\r\n\(name): \(marks)\r\nContent-Length: 2\r\n\r\nxxGET /b HTTP/1.1\r\n\r\n")
        #expect(try connection.parts() == "")
        #expect(try connection.sent().hasPrefix("HTTP/1.1 400 "))
        #expect(!connection.isOpen)
    }

    @Test func theNextRequestIsParsedOnceTheReplyIsWritten() throws {
        let connection = try Connection()
        try connection.receive(Self.get("/1") + Self.get("/2") + Self.get("/3"))
        #expect(try connection.parts() == "/1.")
        _ = try connection.reply()
        #expect(try connection.parts() == "/2.")
        _ = try connection.reply()
        #expect(try connection.parts() == "/3.")
        _ = try connection.reply()
        #expect(try connection.parts() == "")
    }

    @Test(arguments: [
        ("Content-Length: 5", "hello"), ("Content-Length: 8", "a\r\n\r\nbcd"), ("Content-Length: 0", ""),
        ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked", "8\r\na\r\n\r\nbcd\r\n1\r\n\n\r\n0\r\nTrailer: x\r\n\r\n"),
    ])
    func aBodyBelongsToItsRequest(field: String, body: String) throws {
        let text = "\r\nPOST /1 HTTP/1.1\r\nHost: x\r\n\(field)\r\n\r\n\(body)" + Self.get("/2")
        // However the bytes arrive.
        for size in [1, 2, 3, 7, 1000] {
            let connection = try Connection()
            var rest = Substring(text).unicodeScalars
            while !rest.isEmpty {
                try connection.receive(String(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(try connection.parts().replacing("+", with: "") == "/1.")
            _ = try connection.reply()
            #expect(try connection.parts() == "/2.")
        }
    }

    @Test func aClientThatAsksIsToldToSendItsBody() throws {
        let connection = try Connection()
        try connection.receive("POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n")
        #expect(try connection.sent() == "HTTP/1.1 100 Continue\r\n\r\n")
        try connection.receive("ab")
        #expect(try connection.parts() == "/1+.")
        #expect(try connection.reply().hasPrefix("HTTP/1.1 200"))
    }

    @Test func nothingIsReadWhileAReplyIsDue() throws {
        let connection = try Connection()
        try connection.receive(Self.get("/1"))
        connection.reads.count = 0
        connection.channel.read()
        #expect(connection.reads.count == 0)
        _ = try connection.reply()
        #expect(connection.reads.count == 1)
        try connection.receive(Self.get("/2") + Self.get("/3"))
        connection.reads.count = 0
        connection.channel.read()
        _ = try connection.reply()
        #expect(connection.reads.count == 0)
        _ = try connection.reply()
        #expect(connection.reads.count == 1)
    }

    @Test func aConnectionHoldsTheBytesOfOneRead() throws {
        let connection = try Connection()
        let many = String(repeating: Self.get("/"), count: 1000)
        var count = 0
        // As if the client had closed its side, when everything is read at once.
        while connection.channel.isActive, count < 1000 {
            count += 1
            try connection.receive(many)
        }
        #expect(count * many.utf8.count < 400_000)
    }

    @Test func whatIsNoRequestIsNotKept() throws {
        let connection = try Connection()
        var count = 0
        while connection.channel.isActive, count < 100_000 {
            count += 1
            // Empty lines before a request are allowed, and say nothing.
            try connection.receive("\r\n\r\n\r\n\r\n")
        }
        #expect(count < 20_000)
    }

    @Test func anEndOfTheInputWaitsForTheRequestsBeforeIt() throws {
        let connection = try Connection()
        let end = End()
        try connection.channel.pipeline.syncOperations.addHandler(end)
        try connection.receive(Self.get("/1") + Self.get("/2"))
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(!end.hasCome)
        _ = try connection.reply()
        #expect(try connection.parts() == "/1./2.")
        #expect(end.hasCome)
    }

    private final class End: ChannelInboundHandler {
        typealias InboundIn = HTTPRequestPart

        var hasCome = false

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event as? ChannelEvent == .inputClosed { hasCome = true }
        }
    }

    @Test func aConnectionEndsWithSoManyRefusals() throws {
        let connection = try Connection(mostRefusals: 3)
        try connection.receive(String(repeating: Self.get("/"), count: 5))
        #expect(try !connection.reply(.notFound).contains("close"))
        #expect(try !connection.reply(.ok).contains("close"))
        #expect(try !connection.reply(.unauthorized).contains("close"))
        #expect(connection.channel.isActive)
        #expect(try connection.reply(.notFound).contains("close"))
        #expect(!connection.channel.isActive)
        #expect(try connection.parts() == "/./././.")
    }

    /// Returns the pieces that arrive of a body of 64 KiB in chunks of so many bytes.
    private static func pieces(ofSize size: Int, _ connection: Connection) throws -> Int {
        try connection.receive("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = String(size, radix: 16) + "\r\n" + String(repeating: "x", count: size) + "\r\n"
        // The parser complains where the connection ends within the body.
        try? connection.receive(String(repeating: chunk, count: (64 << 10) / size) + "0\r\n\r\n")
        return try connection.parts().count { $0 == "+" }
    }

    @Test(arguments: [1, 20, 500]) func aBodyInTinyChunksEndsTheConnection(size: Int) throws {
        let connection = try Connection()
        #expect(try Self.pieces(ofSize: size, connection) <= 128)
        #expect(!connection.channel.isActive)
    }

    @Test(arguments: [1024, 4096, 64 << 10]) func aBodyInChunksArrivesWhole(size: Int) throws {
        let connection = try Connection()
        #expect(try Self.pieces(ofSize: size, connection) >= (64 << 10) / size)
        #expect(connection.channel.isActive)
    }

    @Test func bytesThatAreNotHTTPEndTheReading() throws {
        let connection = try Connection()
        #expect(throws: (any Error).self) { try connection.receive("What?\r\n\r\n" + Self.get("/1")) }
        connection.reads.count = 0
        connection.channel.read()
        #expect(connection.reads.count == 0)
        #expect(try connection.parts() == "")
    }
}
