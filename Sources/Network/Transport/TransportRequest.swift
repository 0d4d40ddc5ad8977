public import HTTPTypes
package import URLs

/// One HTTP request with its body and its limits.
public struct TransportRequest: Sendable {
    /// The request's body.
    public enum Body: Sendable {
        /// No body. POST, PUT and PATCH send `Content-Length: 0`.
        case none
        /// Bytes in memory.
        case bytes([UInt8])
        /// Bytes read while the body is being sent.
        case stream(any BodySource)
        /// `multipart/form-data` (RFC 7578); the transport adds the `Content-Type` with its boundary.
        case multipart([MultipartPart])

        /// The number of bytes of content, without the framing of a multipart body.
        public var contentLength: UInt64 {
            switch self {
            case .none: 0
            case .bytes(let bytes): UInt64(bytes.count)
            case .stream(let source): source.length
            case .multipart(let parts): parts.reduce(0) { $0 + $1.source.length }
            }
        }
    }

    /// Time limits of a request.
    public struct Timeouts: Equatable, Sendable {
        /// Limit for the name look-up, connecting and the TLS handshake together.
        public var connect: Duration
        /// Limit for a time without progress while sending. The transport's pauses for its bandwidth limit do not
        /// count.
        public var stall: Duration
        /// Limit from the last byte sent to the last byte of the reply.
        public var reply: Duration

        /// Creates the timeouts of one request.
        public init(connect: Duration, stall: Duration, reply: Duration) {
            self.connect = connect
            self.stall = stall
            self.reply = reply
        }
    }

    /// Method, for instance `POST`.
    public var method: HTTPRequest.Method
    /// Absolute `http` or `https` URL; the caller percent-encodes illegal characters.
    public var url: String
    /// Header fields in sending order. `Content-Length`, `Transfer-Encoding` and `Expect` belong to the transport,
    /// which refuses a request with these fields as ``TransportError/badRequest(_:)``. No field can hold CR, LF or
    /// NUL: ``HTTPTypes/HTTPFields/add(_:_:)`` refuses such a value, `HTTPField` replaces the characters.
    public var headers: HTTPFields
    /// The only origin that may get the request's credentials. Must be set if `headers` contain any, and must be the
    /// origin of `url`; otherwise the transport refuses the request as ``TransportError/badRequest(_:)``. So a URL from a
    /// reply of the server, such as a `Location`, leads no token to another server.
    package var credentialsOrigin: WebOrigin?
    /// The request's body.
    public var body: Body
    /// Maximum size of the reply's body in bytes. A longer reply fails with ``TransportError/replyTooLong(_:)``, at
    /// once if its `Content-Length` is too large. Does not apply to HEAD, whose replies have no body.
    public var maximumReplyLength: Int
    /// Receives the reply's body in pieces; nil keeps the body in memory.
    public var sink: (any ReplySink)?
    /// Returns whether the request may use an address, given in the notation of inet_ntop(3); nil allows any address.
    ///
    /// Called for each address before the transport sends to it, on new and on re-used connections, so that a changed
    /// name look-up cannot bypass the check. If every address is refused, the request fails with
    /// ``TransportError/refusedAddress(_:)``. The transport connects to the environment's proxy without a check, and
    /// the proxy looks up the name itself. Called on the transport's thread: must not block.
    public var mayConnect: (@Sendable (_ address: String) -> Bool)?
    /// Receives the number of body bytes the other end has acknowledged, about once a second while the body is sent.
    /// The number may return to 0, when the body is sent again on another connection. Called on the transport's
    /// thread: must not block.
    public var onProgress: (@Sendable (_ acknowledged: UInt64) -> Void)?
    /// Timeouts of this request only; nil uses the transport's timeouts.
    public var timeouts: Timeouts?

    /// Creates a request.
    public init(
        method: HTTPRequest.Method, url: String, headers: HTTPFields = [:], body: Body = .none,
        maximumReplyLength: Int = 1 << 20, timeouts: Timeouts? = nil, sink: (any ReplySink)? = nil,
        mayConnect: (@Sendable (_ address: String) -> Bool)? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.maximumReplyLength = maximumReplyLength
        self.timeouts = timeouts
        self.sink = sink
        self.mayConnect = mayConnect
    }
}

/// One part of a `multipart/form-data` body (RFC 7578).
public struct MultipartPart: Sendable {
    /// Name of the form field.
    public var name: String
    /// File name, if the part is a file.
    public var fileName: String?
    /// Media type of the part.
    public var contentType: String?
    /// The part's bytes.
    public var source: any BodySource

    /// Creates a part.
    public init(name: String, fileName: String? = nil, contentType: String? = nil, source: any BodySource) {
        self.name = name
        self.fileName = fileName
        self.contentType = contentType
        self.source = source
    }
}

/// The final reply to a request; interim ones (1xx) are skipped.
public struct HTTPReply: Equatable, Sendable {
    /// Status code, 200 to 999.
    public var status: Int
    /// Header fields.
    public var headers: HTTPFields
    /// The body, decompressed unless the request asked for a range.
    public var body: [UInt8]

    /// Creates a reply.
    public init(status: Int, headers: HTTPFields = HTTPFields(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Sends requests. A protocol, so that its callers can be tested against a scripted transport.
public protocol HTTPTransport: Sendable {
    /// Runs tasks on the transport's thread: a task that only sends requests then never switches threads. Such a task
    /// must not block, because all transfers wait for it. nil if the transport has no thread.
    var executor: (any TaskExecutor)? { get }

    /// Sends one request and waits for the reply, whatever its status.
    ///
    /// Sends credentials to the origin that they are for, and to no other (`TransportRequest.credentialsOrigin`). Never
    /// follows redirects. Retries in one case only: if a re-used connection turns out to be dead before the
    /// first byte of the reply, the request is sent again on a new connection. Cancelling the task aborts the
    /// transfer.
    func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply
}

extension HTTPTransport {
    /// No thread.
    public var executor: (any TaskExecutor)? { nil }
}

/// Receives the body of a reply in pieces, so that memory never holds the whole body. The transport's thread calls
/// the functions in order; they should not block for long.
public protocol ReplySink: AnyObject, Sendable {
    /// Whether to pass the reply's body to this sink. Called after the header, and only if a body follows. An
    /// unwanted body is read and dropped, up to the request's limit.
    ///
    /// - Parameter reply: status and fields, without a body.
    func takesBody(of reply: HTTPReply) -> Bool

    /// Receives the next bytes.
    ///
    /// - Throws: any error; the request then fails with ``TransportError/sink(_:)``.
    func write(_ bytes: UnsafeRawBufferPointer) throws
}
