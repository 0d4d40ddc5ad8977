public import HTTPTypes
public import LinuxSystem

/// Fetches pictures: ``CurlFetcher``, or a test's own implementation.
public protocol AvatarFetching: Sendable {
    /// Requests a picture once.
    ///
    /// Implementations follow and check redirects. Cancelling the task ends the transfer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - draft: An empty file, open for writing. Its content counts only if the answer is a picture.
    /// - Throws: ``AvatarFetchError``.
    func fetch(_ request: AvatarRequest, into draft: SharedDescriptor) async throws(AvatarFetchError) -> AvatarAnswer
}

/// A request for a picture.
public struct AvatarRequest: Equatable, Sendable {
    /// Absolute URL.
    public var url: String
    /// `ETag` of the stored picture, unchanged from the server's reply.
    public var entityTag: String?
    /// `Last-Modified` of the stored picture, unchanged from the server's reply.
    public var lastModified: String?
    /// Maximum length in bytes; longer pictures are refused.
    public var maximumLength: Int

    /// Creates a request.
    public init(url: String, entityTag: String? = nil, lastModified: String? = nil, maximumLength: Int) {
        self.url = url
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.maximumLength = maximumLength
    }
}

/// The server's answer.
public struct AvatarAnswer: Equatable, Sendable {
    /// The kind of answer.
    public enum Content: Equatable, Sendable {
        /// The stored picture is still valid.
        case unchanged
        /// The draft contains this many bytes. They were not checked to be a picture.
        case body(length: UInt64)
    }

    /// The kind of answer.
    public var content: Content
    /// The header, for freshness and validators.
    public var fields: HTTPFields
    /// Whether a host other than the URL's answered. The body may then be a network's log-in page.
    public var isFromElsewhere: Bool

    /// Creates an answer.
    public init(content: Content, fields: HTTPFields, isFromElsewhere: Bool = false) {
        self.content = content
        self.fields = fields
        self.isFromElsewhere = isFromElsewhere
    }
}

/// Why there is no answer.
public enum AvatarFetchError: Error, Equatable, Sendable {
    /// The server, the network or the URL is at fault; see the fault.
    case failed(AvatarFault, String)
    /// The host, or every one of its addresses, is not allowed (``AddressPolicy``).
    case notAllowed(String)
    /// The draft can't be written.
    case storage(String)
    /// The task was cancelled.
    case cancelled
}
