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
