public import HTTPTypes

/// One HTTP request with its body and its limits.
public struct TransportRequest: Sendable {
    /// What is sent after the header.
    public enum Body: Sendable {
        /// Nothing. With POST, PUT and PATCH a `Content-Length: 0` is sent.
        case none
        /// Bytes that are in memory anyway.
        case bytes([UInt8])
        /// Bytes that are read while they are sent.
        case stream(any BodySource)
        /// `multipart/form-data` (RFC 7578); the transport adds the `Content-Type` with its boundary.
        case multipart([MultipartPart])
    }

    /// How long to wait for what.
    public struct Timeouts: Equatable, Sendable {
        /// Finding the address, connecting and the TLS handshake together.
        public var connect: Duration
        /// Sending: no byte moved for this long. Pauses the transport makes for its bandwidth limit do not count.
        public var stall: Duration
        /// From the last byte sent to the last byte of the reply.
        public var reply: Duration

        /// Timeouts for one request.
        public init(connect: Duration, stall: Duration, reply: Duration) {
            self.connect = connect
            self.stall = stall
            self.reply = reply
        }
    }

    /// Method, for instance `POST`.
    public var method: HTTPRequest.Method
    /// Absolute `http` or `https` URL; every character that needs it is percent-encoded already.
    public var url: String
    /// Header fields in the order they are sent. `Content-Length` and `Transfer-Encoding` belong to the transport;
    /// a request that names them is refused with ``TransportError/badRequest(_:)``. No field can hold CR, LF or NUL:
    /// ``HTTPTypes/HTTPFields/add(_:_:)`` refuses such a value, `HTTPField` replaces it.
    public var headers: HTTPFields
    /// What is sent after the header.
    public var body: Body
    /// Most bytes of a reply's body that are taken; a longer reply is ``TransportError/replyTooLong(_:)``, at once where
    /// its `Content-Length` says so.
    public var maximumReplyLength: Int
    /// Who gets the reply's body while it comes; nil: it is kept in memory.
    public var sink: (any ReplySink)?
    /// Says of an address, as inet_ntop(3) writes it, whether this request may go there; nil: to any.
    ///
    /// Each address of a name is asked about before anything is sent to it, on a new connection and on one that is
    /// re-used, so that it makes no difference what the name meant a moment ago; where all are refused, the request is
    /// ``TransportError/refusedAddress(_:)``. A proxy of the environment is connected to without being asked about, and
    /// looks up the name itself. Called on the transport's thread: it must not block.
    public var mayConnect: (@Sendable (_ address: String) -> Bool)?
    /// Told, about once a second while the body goes out, how many of its bytes the other end has acknowledged. May go
    /// back to 0: the body is sent anew on another connection then. Called on the transport's thread: it must not block.
    public var onProgress: (@Sendable (_ acknowledged: UInt64) -> Void)?
    /// Timeouts of this request alone; nil: the transport's own.
    public var timeouts: Timeouts?

    /// A request.
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
    /// File name, where the part is a file.
    public var fileName: String?
    /// Media type of the part.
    public var contentType: String?
    /// The part's bytes.
    public var source: any BodySource

    /// A part.
    public init(name: String, fileName: String? = nil, contentType: String? = nil, source: any BodySource) {
        self.name = name
        self.fileName = fileName
        self.contentType = contentType
        self.source = source
    }
}
