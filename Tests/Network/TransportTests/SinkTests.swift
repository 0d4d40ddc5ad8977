import HTTPTypes
import Synchronization
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct SinkTests {
    /// Stores the bytes of a reply, and can refuse replies.
    private final class Sink: ReplySink {
        struct Full: Error, Equatable {}

        private let statuses: Set<Int>
        private let capacity: Int
        private let bytes = Mutex<[UInt8]>([])
        private let largest = Mutex(0)

        init(statuses: Set<Int> = [200], capacity: Int = .max) {
            self.statuses = statuses
            self.capacity = capacity
        }

        var content: [UInt8] { bytes.withLock { $0 } }
        var largestPiece: Int { largest.withLock { $0 } }

        func takesBody(of reply: HTTPReply) -> Bool { statuses.contains(reply.status) }

        func write(_ new: UnsafeRawBufferPointer) throws {
            try bytes.withLock { bytes in
                if bytes.count + new.count > capacity { throw Full() }
                bytes += new
            }
            largest.withLock { $0 = max($0, new.count) }
        }
    }

    private static let picture = [UInt8]((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) })

    @Test func `a body goes to the sink piece by piece, and not into the reply`() async throws {
        let server = try ScriptedServer { _ in .response(status: 200, headers: [("ETag", "x")], body: Self.picture) }
        try await withTransport(server) { transport in
            let sink = Sink()
            var request = TransportRequest.get(server.url)
            request.maximumReplyLength = Self.picture.count
            request.sink = sink
            let reply = try await transport.send(request)
            #expect(reply.status == 200)
            #expect(reply.headers[.eTag] == "x")
            #expect(reply.body.isEmpty)
            #expect(sink.content == Self.picture)
            #expect(sink.largestPiece < Self.picture.count)
        }
    }

    @Test func `a body the sink does not want is dropped, and the connection stays`() async throws {
        let server = try ScriptedServer { _ in .response(status: 404, body: Self.picture) }
        try await withTransport(server) { transport in
            let sink = Sink()
            var request = TransportRequest.get(server.url)
            request.maximumReplyLength = Self.picture.count
            request.sink = sink
            for _ in 0..<2 {
                let reply = try await transport.send(request)
                #expect(reply.status == 404)
                #expect(reply.body.isEmpty)
            }
            #expect(sink.content.isEmpty)
            #expect(server.acceptedConnections == 1)
        }
    }

    @Test func `a body that says it is too long is refused before a byte of it is taken`() async throws {
        let server = try ScriptedServer { _ in .response(status: 200, body: Self.picture) }
        try await withTransport(server) { transport in
            let sink = Sink()
            var request = TransportRequest.get(server.url)
            request.maximumReplyLength = Self.picture.count - 1
            request.sink = sink
            #expect(await failure(of: request, over: transport)?.kind == "replyTooLong")
            #expect(sink.content.isEmpty)
        }
    }

    @Test func `a body of unknown length is refused once it is too long`() async throws {
        let server = try ScriptedServer { _ in
            .raw(Array("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".utf8) + Self.picture)
        }
        try await withTransport(server) { transport in
            let sink = Sink()
            var request = TransportRequest.get(server.url)
            request.maximumReplyLength = 1_000_000
            request.sink = sink
            #expect(await failure(of: request, over: transport)?.kind == "replyTooLong")
            #expect(sink.content.count <= 1_000_000)
        }
    }

    @Test func `a sink that fails ends the request with its error`() async throws {
        let server = try ScriptedServer { _ in .response(status: 200, body: Self.picture) }
        try await withTransport(server) { transport in
            var request = TransportRequest.get(server.url)
            request.maximumReplyLength = Self.picture.count
            request.sink = Sink(capacity: 100_000)
            guard case .sink(let error) = await failure(of: request, over: transport) else {
                Issue.record("not a sink's failure")
                return
            }
            #expect(error is Sink.Full)
        }
    }
}
