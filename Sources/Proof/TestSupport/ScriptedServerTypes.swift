extension ScriptedServer {
    /// The head of a request.
    public struct Head: Sendable {
        /// The method, for instance `POST`.
        public let method: String
        /// The path and query as sent.
        public let target: String
        /// The header fields, in order of arrival.
        public let headers: [(name: String, value: String)]
        /// The number of the request, counted from 0 over all connections.
        public let index: Int
        /// The number of the connection, counted from 0.
        public let connection: Int

        /// Returns the value of the first field with this name, case-insensitively, or nil if there is none.
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

        /// The method, for instance `POST`.
        public var method: String { head.method }
        /// The path and query as sent.
        public var target: String { head.target }
        /// The header fields, in order of arrival.
        public var headers: [(name: String, value: String)] { head.headers }
        /// The number of the request, counted from 0 over all connections.
        public var index: Int { head.index }
        /// The number of the connection, counted from 0.
        public var connection: Int { head.connection }
        /// The body as text.
        public var text: String { String(decoding: body, as: UTF8.self) }

        /// Returns the value of the first field with this name, case-insensitively, or nil if there is none.
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
        /// Whether another program listens at the port.
        let isInUse: Bool
    }
}
