import HTTPTypes
import Synchronization
import TestSupport
import Transport

/// A body of equal bytes that counts rewinds, and can fail or end early at a given offset.
final class PatternBody: BodySource {
    struct Broken: Error, Equatable {}

    let length: UInt64
    private let failAt: UInt64?
    private let endAt: UInt64?
    private let position = Mutex<UInt64>(0)
    private let rewindCount = Mutex(0)

    init(_ length: UInt64, failAt: UInt64? = nil, endAt: UInt64? = nil) {
        self.length = length
        self.failAt = failAt
        self.endAt = endAt
    }

    var rewinds: Int { rewindCount.withLock { $0 } }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try position.withLock { position in
            let limit = min(failAt ?? length, endAt ?? length, length)
            let count = Int(min(UInt64(buffer.count), limit - position))
            if count == 0, failAt == limit { throw Broken() }
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 0x6F)
            position += UInt64(count)
            return count
        }
    }

    func rewind() {
        position.withLock { $0 = 0 }
        rewindCount.withLock { $0 += 1 }
    }
}

/// A body that holds a text in memory.
final class TextBody: BodySource {
    private let bytes: [UInt8]
    private let position = Mutex(0)

    init(_ text: String) { bytes = Array(text.utf8) }

    var length: UInt64 { UInt64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        position.withLock { position in
            let rest = bytes[position...].prefix(buffer.count)
            buffer.copyBytes(from: rest)
            position += rest.count
            return rest.count
        }
    }

    func rewind() { position.withLock { $0 = 0 } }
}

/// Runs a test with a server and a transport, then stops both.
func withTransport(
    _ server: ScriptedServer, _ configuration: CurlTransport.Configuration = .init(),
    _ body: (CurlTransport) async throws -> Void
) async throws {
    let transport = try CurlTransport(configuration: configuration)
    defer {
        transport.shutdown()
        server.stop()
    }
    try await body(transport)
}

/// Sends a request and returns the error; nil if the request succeeds.
func failure(of request: TransportRequest, over transport: CurlTransport) async -> TransportError? {
    do {
        _ = try await transport.send(request)
        return nil
    } catch {
        return error
    }
}

extension TransportRequest {
    static func get(_ url: String) -> TransportRequest { TransportRequest(method: .get, url: url) }

    static func post(_ url: String, _ body: Body) -> TransportRequest {
        TransportRequest(method: .post, url: url, body: body)
    }

    func with(stall: Duration = .seconds(30), reply: Duration = .seconds(30)) -> TransportRequest {
        var copy = self
        copy.timeouts = Timeouts(connect: .seconds(30), stall: stall, reply: reply)
        return copy
    }
}

extension TransportError {
    /// The name of the case, for comparisons.
    var kind: String {
        switch self {
        case .resolve: "resolve"
        case .connect: "connect"
        case .tls: "tls"
        case .reset: "reset"
        case .stalled: "stalled"
        case .replyTimeout: "replyTimeout"
        case .replyTooLong: "replyTooLong"
        case .badReply: "badReply"
        case .cancelled: "cancelled"
        case .badURL: "badURL"
        case .badRequest: "badRequest"
        case .other: "other"
        case .body: "body"
        case .refusedAddress: "refusedAddress"
        case .sink: "sink"
        }
    }
}
