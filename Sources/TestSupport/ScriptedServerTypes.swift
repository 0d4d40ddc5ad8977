extension ScriptedServer {
    /// The head of a request.
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

    /// A completely received request.
    public struct Request: Sendable {
        /// Everything before the body.
        public let head: Head
        /// The body, with chunks joined; empty if longer than `longestKeptBody`.
        public let body: [UInt8]
        /// The length of the body in bytes, even if the body was discarded.
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

    /// The reply to a request.
    public enum Reply: Sendable {
        /// A reply with `Content-Length`. The connection stays open unless a field says `Connection: close`.
        case response(status: Int, headers: [(String, String)] = [], body: [UInt8] = [])
        /// A reply of type `application/json`.
        case json(status: Int = 200, String)
        /// These raw bytes; the server then closes the connection.
        case raw([UInt8])
        /// The server resets the connection: the client sees ECONNRESET.
        case reset
        /// The server closes the connection without a reply: the request arrived, but its reply is lost.
        case close
        /// No reply until the client or ``ScriptedServer/stop()`` closes the connection.
        case hang
        /// A reply with fewer bytes than promised; the server then closes the connection.
        case truncated(status: Int, promised: Int, body: [UInt8])
    }

    /// A fault while the server receives a body.
    public enum BodyFault: Sendable {
        /// No fault: the server reads the whole body.
        case read
        /// The server resets the connection after this many bytes.
        case resetAfter(Int)
        /// The server stops reading after this many bytes, and the connection stays open.
        case stallAfter(Int)
    }

    /// The server cannot listen.
    public struct StartError: Error, CustomStringConvertible {
        /// The failed call and its reason.
        public let description: String
    }
}
