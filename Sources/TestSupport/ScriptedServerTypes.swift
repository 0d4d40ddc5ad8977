extension ScriptedServer {
    /// What is known of a request before its body.
    public struct Head: Sendable {
        /// Method, for instance `POST`.
        public let method: String
        /// Path and query as they were sent.
        public let target: String
        /// Fields in the order they came.
        public let headers: [(name: String, value: String)]
        /// Number of the request, counted from 0 over all connections.
        public let index: Int
        /// Number of the connection it came on, counted from 0.
        public let connection: Int

        /// Value of the first field of that name, whatever its case; nil where there is none.
        public func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    /// A request that came to its end.
    public struct Request: Sendable {
        /// Everything before the body.
        public let head: Head
        /// The body, with chunks joined; empty where it is longer than the server keeps.
        public let body: [UInt8]
        /// Length of the body, kept or not.
        public let bodyLength: Int

        /// Method, for instance `POST`.
        public var method: String { head.method }
        /// Path and query as they were sent.
        public var target: String { head.target }
        /// Fields in the order they came.
        public var headers: [(name: String, value: String)] { head.headers }
        /// Number of the request, counted from 0 over all connections.
        public var index: Int { head.index }
        /// Number of the connection it came on, counted from 0.
        public var connection: Int { head.connection }
        /// The body as text.
        public var text: String { String(decoding: body, as: UTF8.self) }

        /// Value of the first field of that name, whatever its case; nil where there is none.
        public func header(_ name: String) -> String? { head.header(name) }
    }

    /// What a request gets back.
    public enum Reply: Sendable {
        /// A reply with its `Content-Length`; the connection stays open unless a field says `Connection: close`.
        case response(status: Int, headers: [(String, String)] = [], body: [UInt8] = [])
        /// A reply of type `application/json`.
        case json(status: Int = 200, String)
        /// These bytes as they are; the connection is closed afterwards.
        case raw([UInt8])
        /// The connection is reset: the other end sees ECONNRESET.
        case reset
        /// The connection is closed without a reply: the request was taken, and the reply lost.
        case close
        /// No reply, until the other end or ``ScriptedServer/stop()`` closes the connection.
        case hang
        /// A reply that promises more bytes than it has; the connection is closed after them.
        case truncated(status: Int, promised: Int, body: [UInt8])
    }

    /// What happens to a request's body.
    public enum BodyFault: Sendable {
        /// Nothing: it is read to its end.
        case read
        /// The connection is reset once that many bytes have come.
        case resetAfter(Int)
        /// Nothing more is read once that many bytes have come, and the connection stays open.
        case stallAfter(Int)
    }

    /// The server cannot listen.
    public struct StartError: Error, CustomStringConvertible {
        /// What failed, and why.
        public let description: String
    }
}
