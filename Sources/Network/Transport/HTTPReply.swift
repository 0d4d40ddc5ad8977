public import HTTPTypes

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
