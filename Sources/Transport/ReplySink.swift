/// Takes the body of a reply while it comes, so that it never stands in memory as a whole. Its functions are called on
/// the transport's thread, in order, and should not block for long.
public protocol ReplySink: AnyObject, Sendable {
    /// Whether the body of a reply is wanted; asked once the header is there, and only where a body follows. A body that
    /// is not is read and dropped, up to the request's limit.
    ///
    /// - Parameter reply: status and fields, without a body.
    func takesBody(of reply: HTTPReply) -> Bool

    /// Takes the next bytes.
    ///
    /// - Throws: anything; the request ends as ``TransportError/sink(_:)``.
    func write(_ bytes: UnsafeRawBufferPointer) throws
}
